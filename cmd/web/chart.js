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

EGS.chart.format = value => Number(value.toFixed(value < 10 ? 2 : 0))
	.toLocaleString('en-US');

/* Values of series over time.
 * names: of the series; at: beginnings of the steps; value(i, k): series i at
 * step k; colour(name).
 */
EGS.chart.overTime = function (o) {
	const width = o.width || 720, height = o.height || 190;
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
		EGS.chart.legend(o.names, o.colour), svg);
};

EGS.chart.drawAxes = function (svg, a) {
	for (const part of [0, 0.5, 1]) {
		const at = a.y(a.top * part);

		svg.append(EGS.makeSvg('line', { class: part ? 'grid' : 'axis',
			x1: a.box.left, x2: a.width - a.box.right, y1: at, y2: at }),
		EGS.makeSvg('text', { x: a.box.left - 8, y: at + 4,
			'text-anchor': 'end' }, EGS.chart.format(a.top * part)));
	}
	const hours = (a.to - a.from) / 3600, most = a.width / 90;
	const step = [1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 720]
		.find(s => hours / s <= most) || 1440;
	const first = new Date(a.from * 1000);

	first.setHours(0, 0, 0, 0);
	for (let t = first / 1000; t < a.to; t += step * 3600)
		if (t >= a.from)
			svg.append(EGS.makeSvg('text', { x: a.x(t),
				y: a.height - 6, 'text-anchor': 'middle' },
			step < 24 ? EGS.clock(t) :
				EGS.clock(t, true).slice(5, 10)));
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

EGS.chart.legend = function (names, colour) {
	return EGS.make('ul.legend', null, names.map(name => EGS.make('li', null,
		EGS.make('i', { style: { background: colour(name) } }), name)));
};

/* One bar of parts: [{ name, value, colour }], with a legend. */
EGS.chart.parts = function (label, parts, unit) {
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
			EGS.make('b', null, `${EGS.chart.format(p.value)} ${unit}`)))));
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
