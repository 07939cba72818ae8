/* chart.js - bars and areas as SVG, each with its numbers in a table */
'use strict';

EGS.chart = {};

/* A round number at or above 'value', for the top of an axis. */
EGS.chart.roundUp = function (value) {
	if (value <= 0)
		return 1;
	const ten = 10 ** Math.floor(Math.log10(value));
	const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]
		.find(s => s * ten >= value * 0.999);

	return step * ten;
};

/* A plot is no wider than the window, so that its labels can be read. */
EGS.chart.fit = width => Math.min(width, Math.max(300, window.innerWidth - 64));

EGS.chart.format = value => Number(value.toFixed(value < 10 ? 2 : 0))
	.toLocaleString('en-US');

/* Values of series over time.
 * names: of the series; at: beginnings of the steps; value(i, k): series i at
 * step k; colour(name).
 */
EGS.chart.overTime = function (o) {
	const width = EGS.chart.fit(o.width || 720), height = o.height || 190;
	const box = { left: 52, right: 8, top: 10, bottom: 24 };
	const sums = o.at.map((t, k) => o.names.reduce(
		(sum, name, i) => o.stacked ? sum + o.value(i, k) :
			Math.max(sum, o.value(i, k)), 0));
	const top = EGS.chart.roundUp(Math.max(o.line || 0, ...sums));
	const from = o.at[0], to = o.at[o.at.length - 1] + o.step_s;
	const x = t => box.left + (width - box.left - box.right) *
		(t - from) / Math.max(1, to - from);
	const y = v => height - box.bottom -
		(height - box.top - box.bottom) * v / top;
	const svg = EGS.makeSvg('svg', { role: 'img', class: 'plot',
		viewBox: `0 0 ${width} ${height}`,
		'aria-label': `${o.title}; the numbers are in the table` });

	EGS.chart.drawAxes(svg, { x, y, top, from, to, width, height, box });
	if (o.stacked)
		EGS.chart.drawBars(svg, o, x, y);
	else
		EGS.chart.drawLines(svg, o, x, y);
	if (o.line)
		svg.append(EGS.makeSvg('line', { class: 'limit', x1: box.left,
			x2: width - box.right, y1: y(o.line), y2: y(o.line) }));
	return EGS.make('figure', null,
		EGS.make('figcaption', null, o.title),
		EGS.chart.legend(o.names, o.colour), svg,
		o.source && EGS.command(o.source));
};

EGS.chart.drawAxes = function (svg, a) {
	for (const part of a.parts || [0, 0.5, 1]) {
		const at = a.y(a.top * part);

		svg.append(EGS.makeSvg('line', { class: part ? 'grid' : 'axis',
			x1: a.box.left, x2: a.width - a.box.right, y1: at, y2: at }),
		EGS.makeSvg('text', { x: a.box.left - 8, y: at + 4,
			'text-anchor': 'end' }, EGS.chart.format(a.top * part)));
	}
	EGS.chart.drawTimes(svg, a);
};

EGS.chart.steps_s = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600,
	7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800, 1209600, 2592000];

/* Labels at round times of the cluster's day. */
EGS.chart.drawTimes = function (svg, a) {
	const most = Math.max(1, a.width / 90);
	const step = EGS.chart.steps_s.find(s => (a.to - a.from) / s <= most) ||
		5184000;
	const zone = EGS.zoneOf_s(a.from);
	const first = Math.ceil((a.from + zone) / step) * step - zone;
	const text = t => step < 60 ? EGS.stamp(t).slice(11) :
		step < 86400 ? EGS.clock(t) : EGS.stamp(t).slice(5, 10);

	for (let t = first; t < a.to; t += step)
		if (a.x(t) < a.width - 24)
			svg.append(EGS.makeSvg('text', { x: a.x(t),
				y: a.height - 6, 'text-anchor': 'middle' }, text(t)));
};

EGS.chart.drawBars = function (svg, o, x, y) {
	const gap = o.at.length > 100 ? 0 : 1;

	o.at.forEach((t, k) => {
		let sum = 0;

		o.names.forEach((name, i) => {
			const v = o.value(i, k), w = x(t + o.step_s) - x(t) - gap;

			if (v <= 0)
				return;
			svg.append(EGS.makeSvg('rect', { x: x(t), y: y(sum + v),
				width: Math.max(0.5, w),
				height: Math.max(0.5, y(sum) - y(sum + v)),
				style: { fill: o.colour(name) } },
			EGS.makeSvg('title', null, `${name}: ${
				EGS.chart.format(v)} at ${EGS.clock(t, true)}`)));
			sum += v;
		});
	});
};

/* A step without data (null) is a gap, not a zero. */
EGS.chart.drawLines = function (svg, o, x, y) {
	o.names.forEach((name, i) => {
		let path = '', pen = 'M';

		o.at.forEach((t, k) => {
			const v = o.value(i, k);

			if (v === null) {
				pen = 'M';
				return;
			}
			path += `${pen}${x(t)},${y(v)}H${x(t + o.step_s)}`;
			pen = 'L';
		});
		svg.append(EGS.makeSvg('path', { d: path || 'M0,0', class: 'curve',
			style: { stroke: o.colour(name) } }));
	});
};

/* ---- levels: how many GPUs at each moment ---- */

/* Spans { start, end, gpus } as levels over time by 'key': the times at which
 * something changes, and the level of each series from then on.  A span without
 * an end reaches until 'now'.
 */
EGS.chart.collectLevels = function (spans, key, now) {
	const names = [...new Set(spans.map(key))];
	const level = names.map(() => 0), at = [], levels = [];
	const changes = spans.flatMap(r => {
		const i = names.indexOf(key(r)), gpus = EGS.number(r.gpus);

		return [[EGS.number(r.start), i, gpus],
			[EGS.number(r.end) || now, i, -gpus]];
	}).sort((a, b) => a[0] - b[0]);

	for (const [t, i, gpus] of changes) {
		level[i] += gpus;
		if (at[at.length - 1] !== t) {
			at.push(t);
			levels.push([]);
		}
		levels[levels.length - 1] = [...level];
	}
	return { names, at, levels };
};

/* One series as an area on top of those below it. */
EGS.chart.drawArea = function (data, i, x, y) {
	const sum = (k, n) => data.levels[k].slice(0, n).reduce((a, b) => a + b, 0);
	let over = '', under = '';

	data.at.forEach((t, k) => {
		const next = data.at[Math.min(k + 1, data.at.length - 1)];

		over += `${k ? 'L' : 'M'}${x(t)},${y(sum(k, i + 1))}H${x(next)}`;
		under = `L${x(next)},${y(sum(k, i))}H${x(t)}${under}`;
	});
	return `${over}${under}Z`;
};

/* The top of an axis of whole GPUs, and where it has lines. */
EGS.chart.wholeAxis = function (most) {
	const top = most <= 8 ? Math.max(1, most) :
		2 * Math.ceil(EGS.chart.roundUp(most) / 2);

	return { top, parts: top % 2 ? [0, 1] : [0, 0.5, 1] };
};

/* o: title, data of collectLevels(), colour(name), marks [{ at, name, colour }]
 * at moments.
 */
EGS.chart.overLife = function (o) {
	const width = EGS.chart.fit(o.width || 1080), height = 220, data = o.data;
	const box = { left: 52, right: 8, top: 16, bottom: 24 };
	const sums = data.levels.map(l => l.reduce((a, b) => a + b, 0));
	const { top, parts } = EGS.chart.wholeAxis(Math.max(...sums));
	const from = data.at[0], to = Math.max(from + 1, data.at[data.at.length - 1]);
	const x = t => box.left + (width - box.left - box.right) *
		(t - from) / (to - from);
	const y = v => height - box.bottom - (height - box.top - box.bottom) * v / top;
	const svg = EGS.makeSvg('svg', { role: 'img', class: 'plot',
		viewBox: `0 0 ${width} ${height}`,
		'aria-label': `${o.title}; the numbers are in the table` });
	const marks = (o.marks || []).filter(m => m.at >= from && m.at <= to);

	EGS.chart.drawAxes(svg, { x, y, top, parts, from, to, width, height, box });
	data.names.forEach((name, i) => svg.append(EGS.makeSvg('path', {
		d: EGS.chart.drawArea(data, i, x, y), class: 'area',
		style: { fill: o.colour(name) } })));
	for (const m of marks)
		svg.append(EGS.makeSvg('line', { class: 'moment', x1: x(m.at),
			x2: x(m.at), y1: box.top - 6, y2: height - box.bottom,
			style: { stroke: m.colour } },
		EGS.makeSvg('title', null, `${m.name} at ${EGS.clock(m.at, true)}`)));
	const kinds = new Map(marks.map(m => [m.name, m.colour]));

	return EGS.make('figure', null, EGS.make('figcaption', null, o.title),
		EGS.chart.legend([...data.names, ...kinds.keys()],
			name => kinds.get(name) || o.colour(name)), svg);
};

EGS.chart.legend = function (names, colour) {
	return EGS.make('ul.legend', null, names.map(name => EGS.make('li', null,
		EGS.make('i', { style: { background: colour(name) } }), name)));
};

/* One bar of parts: [{ name, value, colour }], with a legend. */
EGS.chart.parts = function (label, parts, unit, source) {
	const all = parts.reduce((sum, p) => sum + p.value, 0) || 1;

	return EGS.make('div', null,
		EGS.make('div.parts', { role: 'img', 'aria-label': `${label}: ${
			parts.map(p => `${p.name} ${EGS.chart.format(p.value)} ${unit}`)
				.join(', ')}` },
		parts.map(p => EGS.make('span', { style: { background: p.colour,
			width: `${100 * p.value / all}%` } }))),
		EGS.make('ul.legend.values', null, parts.map(p => EGS.make('li', null,
			EGS.make('i', { style: { background: p.colour } }),
			EGS.make('span', null, p.name),
			EGS.make('b', null, EGS.value(source || '',
				`${EGS.chart.format(p.value)} ${unit}`))))));
};

/* Rows of a report with TIME as series by 'key': { at, names, value }. */
EGS.chart.collect = function (rows, key, column, step_s) {
	const at = [...new Set(rows.map(r => EGS.number(r.time)))]
		.sort((a, b) => a - b);
	const names = [...new Set(rows.map(key))];
	const values = new Map();

	for (const r of rows) {
		const cell = `${key(r)}\n${r.time}`;

		values.set(cell, (values.get(cell) || 0) + EGS.number(r[column]));
	}
	if (at.length)
		for (let t = at[0]; t < at[at.length - 1]; t += step_s)
			if (!at.includes(t))
				at.push(t);
	at.sort((a, b) => a - b);
	return { at, names, step_s,
		has: (i, k) => values.has(`${names[i]}\n${at[k]}`),
		value: (i, k) => values.get(`${names[i]}\n${at[k]}`) || 0 };
};
