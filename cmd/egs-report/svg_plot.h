/* svg_plot.h - numbers over time as SVG
 *
 *	struct egs_svg_plot plot = { .title = "GPU-hours", .from = ..., };
 *
 *	egs_svg_plot_add(&plot, "fraud", at, 12.5);
 *	egs_svg_plot_write(&plot, out);
 *	egs_svg_plot_clear(&plot);
 */
#ifndef EGS_EGS_REPORT_SVG_PLOT_H
#define EGS_EGS_REPORT_SVG_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What comes after so many names is added to the last, "others". */
#define EGS_SVG_PLOT_SERIES_MAX 9

struct egs_svg_plot {
	const char *title;
	int64_t from, to; /* seconds since the epoch */
	int64_t step_s;	  /* of one value */
	bool stacked;	  /* bars on each other, else lines */
	/* for the plot alone */
	struct egs_svg_plot_series {
		char name[96];
		double *value;
	} series[EGS_SVG_PLOT_SERIES_MAX];
	size_t nseries, nsteps;
};

/* Add to what 'name' has at 'at'. */
void egs_svg_plot_add(struct egs_svg_plot *plot, const char *name, int64_t at,
		      double value);

/* Write it with its key, as part of a page of HTML; nothing where there is
 * nothing.
 */
void egs_svg_plot_write(const struct egs_svg_plot *plot, FILE *out);
void egs_svg_plot_clear(struct egs_svg_plot *plot);

/* Rules of CSS that plots need. */
extern const char egs_svg_plot_css[];

/* Text of others, as HTML has it. */
void egs_svg_plot_escape(const char *text, FILE *out);

#endif
