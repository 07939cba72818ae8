/* report.js - the page that egs-report --html writes: data is in the file */
'use strict';

EGS.report = {};

EGS.report.label = function (section, row) {
	return section.columns.map((name, i) => [name, i])
		.filter(([, i]) => !section.numbers.includes(i) &&
			!section.times.includes(i))
		.map(([name]) => row[name.toLowerCase()]).join(' / ') || 'all';
};

EGS.report.palette = names => name => `var(--team${names.indexOf(name) % 8})`;

EGS.report.usagePlot = function (section) {
	const rows = EGS.rows(section.series);
	const largest = EGS.rows(section).map(r => EGS.report.label(section, r));
	const data = EGS.chart.collect(rows,
		r => EGS.report.label(section.series, r), 'gputime',
		section.series.every);

	return data.at.length > 0 && EGS.chart.overTime({ ...data, stacked: true,
		title: `GPU time used, in ${section.unit}`,
		colour: EGS.report.palette(largest) });
};

EGS.report.ratioPlot = function (section) {
	const rows = EGS.rows(section.series).filter(r => r.scope === 'gpu');
	const kinds = [['wr', 'WR'], ['wrfit', 'WRFIT'], ['wrgpu', 'WRGPU']];
	const long = rows.flatMap(r => kinds.map(([key, name]) => ({
		time: r.time, name, value: r[key] })));
	const data = EGS.chart.collect(long, r => r.name, 'value',
		section.series.every);

	return data.at.length > 0 && EGS.chart.overTime({ ...data, stacked: false,
		title: 'Wastage Ratio of all GPUs',
		value: (i, k) => data.has(i, k) ? data.value(i, k) : null,
		colour: EGS.report.palette(data.names) });
};

EGS.report.causePlot = function (section) {
	const rows = EGS.rows(section.series).filter(r => r.scope === 'gpu');
	const causes = EGS.panels.causeColumns(section.series);
	const long = rows.flatMap(r => causes.map(name => ({ time: r.time,
		name: EGS.panels.causeNames[name.toLowerCase()] ||
			name.toLowerCase(), value: r[name.toLowerCase()] })));
	const data = EGS.chart.collect(long, r => r.name, 'value',
		section.series.every);

	return data.at.length > 0 && EGS.chart.overTime({ ...data, stacked: true,
		title: `GPU time wasted by cause, in ${section.unit}`,
		colour: name => `var(--cause${data.names.indexOf(name) % 9})` });
};

/* The first column of sums as bars, the 30 first rows. */
EGS.report.bars = function (section) {
	const column = section.columns[section.sum];
	const rows = EGS.rows(section).slice(0, 30);

	if (!column || !rows.length)
		return null;
	const key = column.toLowerCase();
	const most = Math.max(1e-9, ...rows.map(r => EGS.number(r[key])));
	const svg = EGS.makeSvg('svg', { role: 'img', class: 'plot',
		viewBox: `0 0 720 ${rows.length * 24 + 4}`,
		'aria-label': `${column}; the numbers are in the table` });

	rows.forEach((r, i) => svg.append(
		EGS.makeSvg('text', { x: 220, y: i * 24 + 17, 'text-anchor': 'end' },
			EGS.report.label(section, r).slice(0, 34)),
		EGS.makeSvg('rect', { x: 230, y: i * 24 + 4, height: 16,
			width: 400 * EGS.number(r[key]) / most,
			style: { fill: 'var(--team0)' } }),
		EGS.makeSvg('text', { x: 236 + 400 * EGS.number(r[key]) / most,
			y: i * 24 + 17 }, String(r[key]))));
	return EGS.make('figure', null, EGS.make('figcaption', null, column), svg);
};

EGS.report.table = function (answer, caption) {
	const rows = EGS.rows(answer).map(r => Object.fromEntries(
		Object.entries(r).map(([key, value], i) => [key,
			answer.times.includes(i) && EGS.number(value) > 0 ?
				EGS.clock(value, true) : value])));

	return EGS.table(caption, answer.columns.map((name, i) => [
		name.toLowerCase(), name, answer.numbers.includes(i) ? 'n' : '']),
	rows);
};

EGS.report.section = function (section) {
	const plots = !section.series ? [EGS.report.bars(section)] :
		section.name === 'wastage' ? [EGS.report.ratioPlot(section),
			EGS.report.causePlot(section)] : [EGS.report.usagePlot(section)];

	return EGS.panel(`r-${section.name}`, EGS.report.titles[section.name] ||
		section.name, section.command, plots,
	EGS.report.table(section, section.name),
	section.series && EGS.make('details', null,
		EGS.make('summary', null, 'The same over time'),
		EGS.report.table(section.series, `${section.name} over time`)));
};

EGS.report.titles = { usage: 'GPU time used', teams: 'Teams', waits: 'Waits',
	wastage: 'Wasted GPU time', jobs: 'Jobs', preemptions: 'Preemptions',
	mine: 'My usage', workload: 'Workload', observed: 'Observed' };

/* Headline numbers: used, idle, wasted. */
EGS.report.headline = function (data) {
	const find = name => data.sections.find(s => s.name === name);
	const usage = find('usage'), waste = find('wastage');
	const row = waste && EGS.rows(waste).find(r => r.scope === 'gpu');
	const tiles = [];

	if (usage)
		tiles.push(EGS.panels.tile('used', 'GPU time used',
			EGS.chart.format(EGS.sum(EGS.rows(usage), 'gputime')),
			usage.unit, usage.command));
	if (row)
		tiles.push(EGS.panels.tile('idle', 'GPU time idle',
			EGS.chart.format(EGS.number(row.idle)), waste.unit,
			waste.command),
		EGS.panels.tile('wr', 'Wastage Ratio', EGS.percent(EGS.number(row.wr)),
			`${EGS.chart.format(EGS.number(row.wasted))} ${waste.unit} wasted`,
			waste.command));
	return tiles.length > 0 && EGS.make('section.tiles', {
		'aria-label': 'Summary' }, tiles);
};

EGS.report.show = function (data) {
	const period = `${EGS.clock(data.from, true)} to ${EGS.clock(data.to, true)}`;

	document.title = `EGS ${data.cluster} ${period}`;
	document.getElementById('cluster').textContent = data.cluster;
	document.getElementById('state').textContent =
		`made ${EGS.clock(data.made, true)}`;
	document.getElementById('main').replaceChildren(...[
		EGS.make('h1', null, `${data.title}, ${period}`),
		EGS.report.headline(data),
		...data.sections.map(EGS.report.section)].filter(Boolean));
};
