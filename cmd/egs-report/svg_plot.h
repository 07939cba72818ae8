/* svg_plot.h - plot numbers over time as SVG
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

/* Further names are added to the last series, which becomes "others". */
#define EGS_SVG_PLOT_SERIES_MAX 9

struct egs_svg_plot {
	const char *title;
	int64_t from, to; /* seconds since the epoch */
	int64_t step_s;	  /* time of one value */
	bool stacked;	  /* stacked bars, else lines */
	/* private: */
	struct egs_svg_plot_series {
		char name[96];
		double *value;
	} series[EGS_SVG_PLOT_SERIES_MAX];
	size_t nseries, nsteps;
};

/* Add 'value' to the series 'name' at the step of 'at'. */
void egs_svg_plot_add(struct egs_svg_plot *plot, const char *name, int64_t at,
		      double value);

/* Write the plot with its legend, as part of an HTML page.  A plot without a
 * value above 0 is left out.
 */
void egs_svg_plot_write(const struct egs_svg_plot *plot, FILE *out);
void egs_svg_plot_clear(struct egs_svg_plot *plot);

/* CSS that plots need. */
extern const char egs_svg_plot_css[];

#endif
