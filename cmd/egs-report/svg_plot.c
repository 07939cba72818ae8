/* svg_plot.c - plot numbers over time as SVG */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/egs-report/html.h"
#include "cmd/egs-report/svg_plot.h"

enum {
	WIDTH = 900,
	HEIGHT = 240,
	LEFT = 64,
	RIGHT = 884,
	TOP = 10,
	BOTTOM = 206,
	TICKS = 8,
	STEPS_MAX = 20000,
};

/* Colours that colour-blind readers can tell apart. */
const char egs_svg_plot_css[] =
	"svg{max-width:100%;height:auto}"
	"svg text{font:13px sans-serif;fill:#1a1a1a}"
	"svg line{stroke:#ccc}"
	"svg polyline{fill:none;stroke-width:2}"
	".c0{fill:#2a6f97;stroke:#2a6f97}.c1{fill:#e07a1f;stroke:#e07a1f}"
	".c2{fill:#3a9b8c;stroke:#3a9b8c}.c3{fill:#a83250;stroke:#a83250}"
	".c4{fill:#7d6bb0;stroke:#7d6bb0}.c5{fill:#d9b32c;stroke:#d9b32c}"
	".c6{fill:#5b8c2a;stroke:#5b8c2a}.c7{fill:#8a5a3c;stroke:#8a5a3c}"
	".c8{fill:#8c8c8c;stroke:#8c8c8c}"
	"svg rect{stroke:none}"
	"ul.key{list-style:none;padding:0;margin:.3em 0 1em}"
	"ul.key li{display:inline-block;margin-right:1.4em}"
	"ul.key svg{vertical-align:-1px;margin-right:.4em}";

static int64_t first_step_time(const struct egs_svg_plot *p)
{
	return p->from / p->step_s * p->step_s;
}

static struct egs_svg_plot_series *find_series(struct egs_svg_plot *p,
					       const char *name)
{
	struct egs_svg_plot_series *s;
	size_t i;

	if (!p->nsteps)
		p->nsteps =
			(size_t)((p->to - 1 - first_step_time(p)) / p->step_s) +
			1;
	if (p->nsteps > STEPS_MAX)
		return NULL;
	for (i = 0; i < p->nseries; i++)
		if (strcmp(p->series[i].name, name) == 0)
			return &p->series[i];
	s = &p->series[i < EGS_SVG_PLOT_SERIES_MAX
			       ? i
			       : EGS_SVG_PLOT_SERIES_MAX - 1];
	if (i == EGS_SVG_PLOT_SERIES_MAX) {
		snprintf(s->name, sizeof(s->name), "others");
		return s;
	}
	s->value = calloc(p->nsteps, sizeof(*s->value));
	snprintf(s->name, sizeof(s->name), "%s", name);
	p->nseries += s->value != NULL;
	return s->value ? s : NULL;
}

void egs_svg_plot_add(struct egs_svg_plot *p, const char *name, int64_t at,
		      double value)
{
	struct egs_svg_plot_series *s = find_series(p, name);
	int64_t step = (at - first_step_time(p)) / p->step_s;

	if (s && step >= 0 && (size_t)step < p->nsteps)
		s->value[step] += value;
}

void egs_svg_plot_clear(struct egs_svg_plot *p)
{
	while (p->nseries)
		free(p->series[--p->nseries].value);
}

static double find_highest(const struct egs_svg_plot *p)
{
	double most = 0;
	size_t i, s;

	for (i = 0; i < p->nsteps; i++) {
		double sum = 0;

		for (s = 0; s < p->nseries; s++) {
			double value = p->series[s].value[i];

			sum = p->stacked ? sum + value : value;
			most = sum > most ? sum : most;
		}
	}
	return most;
}

/* Round up to 1, 2 or 5 times a power of ten. */
static double round_up(double value)
{
	double power = 1e-4;

	while (power * 10 < value)
		power *= 10;
	return value <= power	    ? power
	       : value <= 2 * power ? 2 * power
	       : value <= 5 * power ? 5 * power
				    : 10 * power;
}

static double step_to_x(const struct egs_svg_plot *p, size_t step)
{
	return LEFT + (double)(RIGHT - LEFT) * (double)step / (double)p->nsteps;
}

static double value_to_y(double value, double top)
{
	return BOTTOM - (BOTTOM - TOP) * value / top;
}

static void put_grid(double top, FILE *out)
{
	for (int i = 0; i <= 4; i++) {
		double y = value_to_y(top * i / 4, top);

		fprintf(out,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g"
			"</text>\n",
			LEFT, y, RIGHT, y, LEFT - 6, y + 4, top * i / 4);
	}
}

static void put_times(const struct egs_svg_plot *p, FILE *out)
{
	size_t every = p->nsteps / TICKS + 1, i;

	for (i = 0; i < p->nsteps; i += every) {
		time_t at = first_step_time(p) + (int64_t)i * p->step_s;
		char text[32];
		struct tm tm;

		strftime(text, sizeof(text),
			 p->step_s < 86400 ? "%m-%d %H:%M" : "%Y-%m-%d",
			 localtime_r(&at, &tm));
		fprintf(out, "<text x=\"%.1f\" y=\"%d\">%s</text>\n",
			step_to_x(p, i), BOTTOM + 20, text);
	}
}

static void put_bars(const struct egs_svg_plot *p, double top, FILE *out)
{
	double wide = step_to_x(p, 1) - step_to_x(p, 0);
	size_t i, s;

	wide = wide > 3 ? wide - 1 : wide;
	for (i = 0; i < p->nsteps; i++) {
		double sum = 0;

		for (s = 0; s < p->nseries; s++) {
			double value = p->series[s].value[i];

			sum += value;
			if (value > 0)
				fprintf(out,
					"<rect class=\"c%zu\" x=\"%.1f\" "
					"y=\"%.1f\" width=\"%.1f\" "
					"height=\"%.1f\"/>\n",
					s, step_to_x(p, i),
					value_to_y(sum, top), wide,
					BOTTOM - value_to_y(value, top));
		}
	}
}

/* Draw each step as a level, so that a single step is visible. */
static void put_lines(const struct egs_svg_plot *p, double top, FILE *out)
{
	size_t i, s;

	for (s = 0; s < p->nseries; s++) {
		fprintf(out,
			"<polyline class=\"c%zu\" style=\"fill:none\" "
			"points=\"",
			s);
		for (i = 0; i < p->nsteps; i++)
			fprintf(out, "%.1f,%.1f %.1f,%.1f ", step_to_x(p, i),
				value_to_y(p->series[s].value[i], top),
				step_to_x(p, i + 1),
				value_to_y(p->series[s].value[i], top));
		fputs("\"/>\n", out);
	}
}

static void put_legend(const struct egs_svg_plot *p, FILE *out)
{
	fputs("<ul class=\"key\">", out);
	for (size_t s = 0; s < p->nseries; s++) {
		fprintf(out,
			"<li><svg aria-hidden=\"true\" width=\"12\" "
			"height=\"12\"><rect class=\"c%zu\" width=\"12\" "
			"height=\"12\"/></svg>",
			s);
		egs_html_escape(p->series[s].name, out);
		fputs("</li>", out);
	}
	fputs("</ul>\n", out);
}

void egs_svg_plot_write(const struct egs_svg_plot *p, FILE *out)
{
	double top = p->nseries ? find_highest(p) : 0;

	if (top <= 0)
		return;
	top = round_up(top);
	fprintf(out,
		"<figure><figcaption>%s</figcaption><svg role=\"img\" "
		"aria-label=\"%s; the numbers are in the table below\" "
		"viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n",
		p->title, p->title, WIDTH, HEIGHT, WIDTH, HEIGHT);
	put_grid(top, out);
	put_times(p, out);
	if (p->stacked)
		put_bars(p, top, out);
	else
		put_lines(p, top, out);
	fputs("</svg>\n", out);
	put_legend(p, out);
	fputs("</figure>\n", out);
}
