/* base.js - elements, numbers, colours and tables, for all other scripts
 *
 * Every text goes into the page as text (textContent), never as HTML: names of
 * jobs, users and accounts are not ours.
 */
'use strict';

const EGS = {};

/* EGS.make('p.sum', { id: 'x' }, 'text', child, ...): an element. */
EGS.make = function (what, attributes, ...children) {
	const [tag, ...classes] = what.split('.');
	const e = document.createElement(tag);

	if (classes.length)
		e.className = classes.join(' ');
	EGS.setAttributes(e, attributes);
	EGS.append(e, children);
	return e;
};

EGS.makeSvg = function (tag, attributes, ...children) {
	const e = document.createElementNS('http://www.w3.org/2000/svg', tag);

	EGS.setAttributes(e, attributes);
	EGS.append(e, children);
	return e;
};

EGS.setAttributes = function (e, attributes) {
	for (const [name, value] of Object.entries(attributes || {}))
		if (name === 'style')
			Object.entries(value).forEach(
				([key, v]) => e.style.setProperty(key, v));
		else if (value !== null && value !== undefined)
			e.setAttribute(name, value);
};

EGS.append = function (e, children) {
	for (const child of children.flat(Infinity))
		if (child !== null && child !== undefined && child !== false)
			e.append(child);
};

/* The rows of an answer as objects with the columns in lower case. */
EGS.rows = function (answer) {
	if (!answer || !answer.columns)
		return [];
	const keys = answer.columns.map(name => name.toLowerCase());

	return (answer.rows || []).map(row => Object.fromEntries(
		keys.map((key, i) => [key, row[i]])));
};

EGS.number = value => Number(value) || 0;

EGS.sum = (rows, key) => rows.reduce((sum, r) => sum + EGS.number(r[key]), 0);

EGS.count = n => Math.round(n).toLocaleString('en-US');

EGS.plural = (n, word) => `${EGS.count(n)} ${word}${n === 1 ? '' : 's'}`;

EGS.percent = function (ratio, digits) {
	return `${(100 * ratio).toFixed(digits === undefined ? 1 : digits)} %`;
};

/* A ratio of a report; what was not measured is "-". */
EGS.ratio = value => value === '-' ? '–' : EGS.percent(EGS.number(value));

/* "45 s", "12 min", "3.5 h", "2 d": as short as a person says it. */
EGS.duration = function (seconds) {
	const s = Math.max(0, Math.round(seconds));

	if (s < 90)
		return `${s} s`;
	if (s < 5400)
		return `${Math.round(s / 60)} min`;
	if (s < 172800)
		return `${(s / 3600).toFixed(1).replace(/\.0$/, '')} h`;
	return `${Math.round(s / 86400)} d`;
};

/* Times are those of the cluster, as commands print them: what it is ahead of
 * UTC.  A report has none, and the browser's own is used.
 */
EGS.zone_s = null;

EGS.zoneOf_s = epoch => EGS.zone_s === null ?
	-60 * new Date(epoch * 1000).getTimezoneOffset() : EGS.zone_s;

/* "2026-11-18T12:27:12" */
EGS.stamp = epoch => new Date((Number(epoch) + EGS.zoneOf_s(epoch)) * 1000)
	.toISOString().slice(0, 19);

EGS.clock = function (epoch, withDay) {
	const text = EGS.stamp(epoch);

	return `${withDay ? `${text.slice(0, 10)} ` : ''}${text.slice(11, 16)}`;
};

/* The other way round; NaN: not a time. */
EGS.parseStamp = function (text) {
	const utc = Date.parse(`${text}Z`) / 1000;

	return utc - EGS.zoneOf_s(utc);
};

/* "2026-11-18T12:27:12" without its day, if that is the day of the data. */
EGS.shortTime = function (text) {
	const [day, time] = String(text).split('T');

	return day === EGS.stamp(EGS.now_s()).slice(0, 10) && time ?
		time.slice(0, 5) : `${day} ${(time || '').slice(0, 5)}`;
};

/* Names in the order a person expects: n2 before n10. */
EGS.order = new Intl.Collator('en', { numeric: true }).compare;

/* ---- commands ----
 *
 * Every number is from a command, and is a link to it: a view that shows the
 * command and what it prints.  A source is one of these, or a text.
 */
EGS.sources = {
	ping: ['egsctl ping', 'now'],
	map: ['egsctl show map', 'now'],
	teams: ['egsctl show teams', 'now'],
	waiting: ['egsctl show waiting', 'now'],
	preemptions: ['egsctl show preemptions', 'now'],
	wastage: ['egs-report wastage --long', 'today'],
	wastage_hours: ['egs-report wastage --long --every=hour -S now-1day', 'today'],
	usage: ['egs-report usage --by=team --every=hour -S now-1day', 'today'],
	workloads: ['egs-report usage --by=workload,phase --every=hour -S now-2days',
		'today'],
	why: ['egs why %s', 'job'],
	gpus: ['egs gpu %s', 'job'],
	life: ['egs-report life %s', 'job'],
	losses: ['egs-report preemptions -S now-7days --long', 'job'],
	workload: ['egs-report workload %s', 'workload'],
	workload_life: ['egs-report life %s -S now-7days', 'workload'],
	workload_usage: ['egs-report usage --by=workload,phase --every=hour -S now-7days',
		'workload'],
};

/* A word as the shell takes it for what it is. */
EGS.quote = text => /^[\w.,:/@%+-]+$/.test(text) ? text :
	`'${String(text).replaceAll("'", "'\\''")}'`;

EGS.source = (key, arg) => ({ key, arg,
	text: EGS.sources[key][0].replace('%s', () => EGS.quote(arg)),
	href: `#/command/${key}${arg === undefined ? '' :
		`/${encodeURIComponent(arg)}`}` });

/* The command that prints what is shown. */
EGS.command = source => typeof source === 'string' ?
	EGS.make('code.cmd', null, source) :
	EGS.make('a.cmd', { href: source.href,
		title: 'What this command prints' }, source.text);

/* A number, as a link to its command. */
EGS.value = (source, text) => typeof source === 'string' ? String(text) :
	EGS.make('a.num', { href: source.href, title: source.text }, String(text));

/* A panel with a heading and its command. */
EGS.panel = function (id, title, command, ...children) {
	return EGS.make(`section.panel.${id}`, { 'aria-labelledby': `h-${id}` },
		EGS.make('div.head', null,
			EGS.make('h2', { id: `h-${id}` }, title),
			command && EGS.command(command)),
		children);
};

/* A table that a keyboard can scroll; columns: [key, heading, kind, link]. */
EGS.table = function (caption, columns, rows) {
	const head = columns.map(([, heading, kind]) => EGS.make(
		kind === 'n' ? 'th.n' : 'th', { scope: 'col' }, heading));
	const body = rows.map(r => EGS.make('tr', null, columns.map(
		([key, , kind, link]) => EGS.make(kind ? `td.${kind}` : 'td',
			null, EGS.cell(r[key], link && link(r))))));

	return EGS.make('div.scroll', { tabindex: 0, role: 'region',
		'aria-label': `Table: ${caption}` },
		EGS.make('table', null,
			EGS.make('caption', null, caption),
			EGS.make('thead', null, EGS.make('tr', null, head)),
			EGS.make('tbody', null, body)));
};

EGS.cell = function (value, href) {
	if (value instanceof Node)
		return value;
	const text = value === null || value === undefined ? '' : String(value);

	return href && text !== '-' ? EGS.make('a', { href }, text) : text;
};

EGS.jobLink = id => `#/job/${encodeURIComponent(id)}`;
EGS.workloadLink = name => `#/workload/${encodeURIComponent(name)}`;

/* ---- colours ----
 *
 * A team keeps its colour while the page is open: the first eight have their
 * own, the others share the grey of "others".
 */
EGS.colours = { team: new Map(), tier: [], phase: new Map() };

EGS.phaseNames = ['train', 'infer', 'retrain', 'eval', 'prep'];

EGS.learnColours = function (teams, tiers) {
	const known = EGS.colours.team;

	for (const r of teams)
		if (!known.has(r.team))
			known.set(r.team, known.size);
	EGS.colours.tier = tiers.map(r => r.tier);
};

EGS.css = name => getComputedStyle(document.documentElement)
	.getPropertyValue(name).trim();

EGS.teamColour = function (name) {
	const i = EGS.colours.team.get(name);

	if (i === undefined || name === '-')
		return 'var(--none)';
	return i < 8 ? `var(--team${i})` : 'var(--others)';
};

EGS.tierColour = function (name) {
	const i = EGS.colours.tier.indexOf(name);
	const last = Math.max(1, EGS.colours.tier.length - 1);

	return i < 0 ? 'var(--none)' : `var(--tier${Math.round(4 * i / last)})`;
};

EGS.phaseColour = function (name) {
	const i = EGS.phaseNames.indexOf(name);

	return i < 0 ? 'var(--none)' : `var(--phase${i})`;
};

/* "var(--team3)" as the canvas wants it. */
EGS.paint = colour => colour.startsWith('var(') ?
	EGS.css(colour.slice(4, -1)) : colour;

/* ---- data over HTTP ---- */

/* The document 'query' of the server; times are those of the server. */
EGS.read = async function (query) {
	const response = await fetch(`data.json?${query}`, { cache: 'no-store' });
	const date = Date.parse(response.headers.get('Date') || '');

	if (!Number.isNaN(date))
		EGS.clockSkew_ms = date - Date.now();
	return { status: response.status, body: await response.json() };
};

EGS.clockSkew_ms = 0;
EGS.now_s = () => (Date.now() + EGS.clockSkew_ms) / 1000;
