/* map.js - the map of all GPUs by node
 *
 * A canvas, so that 8,000 GPUs cost one drawing.  Colour is the team or the
 * tier, the pattern is the phase, a hatched cell is held and idle, a hollow
 * cell is free, a red cross is an unhealthy GPU, a notch is a loan, and a
 * bright frame is a GPU whose job has been asked to leave.  The same is in a
 * table below, and under the arrow keys.
 */
'use strict';

EGS.map = { colourBy: 'team', cursor: -1, nodes: [], boxes: [] };

/* "0-3,6" as numbers. */
EGS.map.parseSet = function (text) {
	const list = [];

	for (const part of String(text).split(',')) {
		const [first, last] = part.split('-').map(Number);

		for (let i = first; i <= (last === undefined ? first : last); i++)
			list.push(i);
	}
	return list;
};

/* Nodes in order, each with its GPUs in order. */
EGS.map.collect = function (rows) {
	const nodes = new Map();

	for (const r of rows) {
		if (!nodes.has(r.node))
			nodes.set(r.node, { name: r.node, type: r.type, gpus: [] });
		for (const i of EGS.map.parseSet(r.gpus))
			nodes.get(r.node).gpus[i] = r;
	}
	return [...nodes.values()].sort((a, b) =>
		EGS.order(a.type, b.type) || EGS.order(a.name, b.name));
};

EGS.map.sums = function (rows) {
	const by = { busy: 0, idle: 0, free: 0, sick: 0, fenced: 0, down: 0 };

	for (const r of rows)
		by[r.state] = (by[r.state] || 0) + EGS.number(r.count);
	by.all = EGS.sum(rows, 'count');
	by.held = EGS.sum(rows.filter(EGS.map.isHeld), 'count');
	return by;
};

EGS.map.isHeld = r => r.state === 'busy' || r.state === 'idle' ||
	(r.state === 'sick' && (r.team !== '-' || r.jobid !== '-'));

/* ---- layout: the largest cells that fit ---- */

EGS.map.layout = function (nodes, width, height) {
	const most = Math.max(1, ...nodes.map(n => n.gpus.length));
	let best = null;

	for (let cell = 64; cell >= 3; cell -= cell > 12 ? 2 : 1) {
		for (const columns of [most, Math.ceil(most / 2)]) {
			const plan = EGS.map.plan(nodes, width, cell,
				Math.min(most, columns), most);

			if (plan && (!best || plan.height < best.height))
				best = plan;
		}
		if (best && best.height <= height)
			break;
		if (cell > 3)
			best = null;
	}
	return best || EGS.map.plan(nodes, width, 3, Math.min(most, 8), most);
};

EGS.map.plan = function (nodes, width, cell, columns, most) {
	const gap = cell > 30 ? 4 : cell > 9 ? 2 : 1;
	const label = cell >= 13 ? 16 : 0;
	const pad = cell > 30 ? 9 : cell > 9 ? 6 : cell > 5 ? 4 : 2;
	const lines = Math.ceil(most / columns);
	const w = columns * (cell + gap) - gap + pad * 2;
	const h = lines * (cell + gap) - gap + pad * 2 + label;
	const between = cell > 30 ? 12 : cell > 9 ? 8 : 3;
	const across = Math.floor((width + between) / (w + between));
	const boxes = [];
	let y = 0, x = 0, type = null;

	if (across < 1)
		return null;
	for (const node of nodes) {
		if (node.type !== type) {
			y += type === null ? 0 : x ? h + between : 0;
			y += 22;
			x = 0;
			type = node.type;
			boxes.push({ heading: type, y: y - 7 });
		} else if (x === across) {
			x = 0;
			y += h + between;
		}
		boxes.push({ node, x: x * (w + between), y, w, h });
		x++;
	}
	return { cell, gap, label, pad, columns, across, boxes,
		height: y + h };
};

/* ---- drawing ---- */

EGS.map.colourOf = r => EGS.map.colourBy === 'tier' ?
	EGS.tierColour(r.tier) : EGS.teamColour(r.team);

/* Patterns by phase: where to draw lines or dots over the colour. */
EGS.map.drawPhase = function (c, phase, x, y, s) {
	const line = Math.max(1, s / 10), third = s / 3;

	c.fillStyle = 'rgba(255,255,255,.62)';
	if (phase === 'infer') {
		const d = Math.max(1.5, s / 5);

		for (const [i, k] of [[1, 1], [2, 2], [1, 2], [2, 1]])
			c.fillRect(x + third * i - d / 2, y + third * k - d / 2, d, d);
	} else if (phase === 'eval') {
		c.fillRect(x, y + third - line / 2, s, line);
		c.fillRect(x, y + 2 * third - line / 2, s, line);
	} else if (phase === 'retrain') {
		c.fillRect(x + third - line / 2, y, line, s);
		c.fillRect(x + 2 * third - line / 2, y, line, s);
	} else if (phase !== 'train' && phase !== '-') {
		c.fillRect(x + s / 4, y + s / 4, s / 2, s / 2);
	}
};

EGS.map.drawHatch = function (c, colour, x, y, s) {
	c.save();
	c.beginPath();
	c.rect(x, y, s, s);
	c.clip();
	c.strokeStyle = colour;
	c.lineWidth = Math.max(1, s / 9);
	for (let d = -s; d < s; d += Math.max(3, s / 3.5)) {
		c.beginPath();
		c.moveTo(x + d, y + s);
		c.lineTo(x + d + s, y);
		c.stroke();
	}
	c.restore();
	c.lineWidth = 1;
	c.strokeRect(x + 0.5, y + 0.5, s - 1, s - 1);
};

EGS.map.drawCross = function (c, x, y, s, colour) {
	const d = s > 6 ? s * 0.25 : 0;

	c.strokeStyle = colour;
	c.lineWidth = Math.max(1, s / 8);
	c.beginPath();
	c.moveTo(x + d, y + d);
	c.lineTo(x + s - d, y + s - d);
	c.moveTo(x + s - d, y + d);
	c.lineTo(x + d, y + s - d);
	c.stroke();
	c.lineWidth = Math.max(1, s / 10);
	c.strokeRect(x + c.lineWidth / 2, y + c.lineWidth / 2,
		s - c.lineWidth, s - c.lineWidth);
};

EGS.map.drawGpu = function (c, r, x, y, s, ink) {
	const colour = ink.of(r);

	if (r.state === 'free' || r.state === 'fenced') {
		c.strokeStyle = ink.free;
		c.lineWidth = 1;
		c.setLineDash(r.state === 'fenced' ? [2, 2] : []);
		c.strokeRect(x + 0.5, y + 0.5, s - 1, s - 1);
		c.setLineDash([]);
	} else if (r.state === 'down') {
		c.fillStyle = ink.down;
		c.fillRect(x, y, s, s);
	} else if (r.state === 'idle') {
		EGS.map.drawHatch(c, colour, x, y, s);
	} else if (r.state === 'busy' || EGS.map.isHeld(r)) {
		c.fillStyle = colour;
		c.fillRect(x, y, s, s);
		if (s >= 7)
			EGS.map.drawPhase(c, r.phase, x, y, s);
	}
	if (r.loan === 'loan' && s >= 7)
		EGS.map.drawNotch(c, x, y, s, ink.paper);
	if (r.state === 'sick')
		EGS.map.drawCross(c, x, y, s, ink.bad);
	if (s >= 40 && r.jobid !== '-' && r.jobid !== undefined)
		EGS.map.drawJob(c, r, x, y, s, ink);
	if (r.left !== '-' && r.left !== undefined) {
		c.strokeStyle = ink.leaving;
		c.lineWidth = Math.max(2, s / 8);
		c.strokeRect(x + 1, y + 1, s - 2, s - 2);
	}
};

/* Large cells have room for the job. */
EGS.map.drawJob = function (c, r, x, y, s, ink) {
	c.font = '600 11px ui-sans-serif, system-ui, sans-serif';
	const w = Math.min(s - 6, c.measureText(r.jobid).width + 8);

	c.fillStyle = ink.paper;
	c.beginPath();
	c.roundRect(x + (s - w) / 2, y + s / 2 - 8, w, 16, 4);
	c.fill();
	c.fillStyle = ink.strong;
	c.textAlign = 'center';
	c.fillText(r.jobid, x + s / 2, y + s / 2 + 4, w - 4);
	c.textAlign = 'start';
};

EGS.map.drawNotch = function (c, x, y, s, paper) {
	c.fillStyle = paper;
	c.beginPath();
	c.moveTo(x + s, y);
	c.lineTo(x + s - s / 3, y);
	c.lineTo(x + s, y + s / 3);
	c.fill();
};

EGS.map.inks = function () {
	const known = new Map();
	const paint = colour => {
		if (!known.has(colour))
			known.set(colour, EGS.paint(colour));
		return known.get(colour);
	};

	return { of: r => paint(EGS.map.colourOf(r)), free: EGS.css('--hair'),
		down: EGS.css('--down'), bad: EGS.css('--bad'),
		leaving: EGS.css('--leaving'), paper: EGS.css('--card'),
		text: EGS.css('--soft'), strong: EGS.css('--ink'), frame: EGS.css('--frame'),
		focus: EGS.css('--focus') };
};

EGS.map.cellAt = (plan, box, i) => [
	box.x + plan.pad + (i % plan.columns) * (plan.cell + plan.gap),
	box.y + plan.pad + plan.label +
		Math.floor(i / plan.columns) * (plan.cell + plan.gap)];

EGS.map.drawNode = function (c, plan, box, ink) {
	c.fillStyle = ink.frame;
	c.beginPath();
	c.roundRect(box.x, box.y, box.w, box.h, plan.cell > 9 ? 5 : 2);
	c.fill();
	if (plan.label) {
		c.fillStyle = ink.text;
		c.font = '12px ui-sans-serif, system-ui, sans-serif';
		c.fillText(box.node.name, box.x + plan.pad, box.y + 15,
			box.w - 2 * plan.pad);
	}
	for (let i = 0; i < box.node.gpus.length; i++)
		if (box.node.gpus[i])
			EGS.map.drawGpu(c, box.node.gpus[i],
				...EGS.map.cellAt(plan, box, i), plan.cell, ink);
};

EGS.map.drawCursor = function (c, plan, ink) {
	const box = EGS.map.boxes[EGS.map.cursor];

	if (!box)
		return;
	c.strokeStyle = ink.focus;
	c.lineWidth = 2;
	c.strokeRect(box.x - 1, box.y - 1, box.w + 2, box.h + 2);
};

EGS.map.draw = function () {
	const { canvas, frame } = EGS.map;
	const width = frame.clientWidth, ratio = window.devicePixelRatio || 1;

	if (!width)
		return;
	const plan = EGS.map.layout(EGS.map.nodes, width,
		EGS.map.nodes.length < 17 ? 330 :
			Math.max(260, Math.min(520, window.innerHeight * 0.5)));

	EGS.map.drawn = plan;
	EGS.map.boxes = plan.boxes.filter(b => b.node);
	canvas.width = width * ratio;
	canvas.height = (plan.height + 2) * ratio;
	canvas.style.height = `${plan.height + 2}px`;
	const c = canvas.getContext('2d'), ink = EGS.map.inks();

	c.scale(ratio, ratio);
	for (const box of plan.boxes) {
		if (box.node) {
			EGS.map.drawNode(c, plan, box, ink);
			continue;
		}
		c.fillStyle = ink.text;
		c.font = '600 12px ui-sans-serif, system-ui, sans-serif';
		c.fillText(EGS.map.headingOf(box.heading), 0, box.y);
	}
	EGS.map.drawCursor(c, plan, ink);
};

EGS.map.headingOf = function (type) {
	const nodes = EGS.map.nodes.filter(n => n.type === type);
	const gpus = nodes.reduce((sum, n) => sum + n.gpus.length, 0);

	return `${type === '-' ? 'GPUs' : type}   ${
		EGS.plural(gpus, 'GPU')} on ${EGS.plural(nodes.length, 'node')}`;
};

/* ---- words about a node or a GPU ---- */

EGS.map.describe = function (r) {
	const words = [{ busy: 'in use', idle: 'held and idle', free: 'free',
		sick: 'unhealthy', fenced: 'fenced', down: 'down' }[r.state]];

	if (r.jobid !== '-')
		words.push(`job ${r.jobid} of ${r.user}`);
	if (r.team !== '-')
		words.push(`team ${r.team}`);
	if (r.tier !== '-')
		words.push(`tier ${r.tier}`);
	if (r.phase !== '-')
		words.push(r.phase);
	if (r.loan === 'loan')
		words.push('on loan');
	if (r.sm !== '-')
		words.push(`${r.sm} % busy`);
	if (r.left !== '-')
		words.push(`leaves within ${EGS.duration(r.left)}`);
	return words.join(', ');
};

EGS.map.describeNode = function (node) {
	const groups = [...new Set(node.gpus.filter(Boolean))];

	return `${node.name}: ${groups.map(r => `GPU ${r.gpus} ${
		EGS.map.describe(r)}`).join('; ')}`;
};

EGS.map.find = function (event) {
	const at = EGS.map.canvas.getBoundingClientRect(), plan = EGS.map.drawn;
	const x = event.clientX - at.left, y = event.clientY - at.top;
	const box = EGS.map.boxes.find(b => x >= b.x && x < b.x + b.w &&
		y >= b.y && y < b.y + b.h);

	if (!box)
		return null;
	const i = box.node.gpus.findIndex((r, k) => {
		const [left, top] = EGS.map.cellAt(plan, box, k);

		return x >= left && x <= left + plan.cell + plan.gap &&
			y >= top && y <= top + plan.cell + plan.gap;
	});

	return { box, gpu: i, row: i < 0 ? null : box.node.gpus[i] };
};

EGS.map.point = function (event) {
	const hit = EGS.map.find(event);

	EGS.map.words.textContent = !hit ? EGS.map.hint() : hit.row ?
		`${hit.box.node.name} GPU ${hit.gpu}: ${EGS.map.describe(hit.row)}` :
		EGS.map.describeNode(hit.box.node);
	EGS.map.canvas.style.cursor = hit && hit.row && hit.row.jobid !== '-' ?
		'pointer' : 'default';
};

EGS.map.hint = () => 'Point at a GPU, or use the arrow keys.';

EGS.map.press = function (event) {
	const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: EGS.map.drawn.across,
		ArrowUp: -EGS.map.drawn.across }[event.key];

	if (event.key === 'Enter' && EGS.map.boxes[EGS.map.cursor]) {
		const row = EGS.map.boxes[EGS.map.cursor].node.gpus
			.find(r => r && r.jobid !== '-');

		if (row)
			location.hash = EGS.jobLink(row.jobid);
		return;
	}
	if (!step)
		return;
	event.preventDefault();
	EGS.map.cursor = Math.max(0, Math.min(EGS.map.boxes.length - 1,
		EGS.map.cursor < 0 ? 0 : EGS.map.cursor + step));
	EGS.map.draw();
	EGS.map.words.textContent =
		EGS.map.describeNode(EGS.map.boxes[EGS.map.cursor].node);
};

/* ---- the panel ---- */

EGS.map.legend = function (rows) {
	const key = EGS.map.colourBy;
	const names = [...new Set(rows.filter(EGS.map.isHeld).map(r => r[key]))]
		.sort(EGS.order);
	const colour = key === 'tier' ? EGS.tierColour : EGS.teamColour;
	const held = name => EGS.sum(rows.filter(r => EGS.map.isHeld(r) &&
		r[key] === name), 'count');
	const all = names.map(name => [name, held(name)])
		.sort((a, b) => b[1] - a[1]);

	return EGS.make('ul.legend.values', null,
		all.slice(0, 12).map(([name, n]) => EGS.make('li', null,
			EGS.make('i', { style: { background: colour(name) } }),
			EGS.make('span', null, name === '-' ? 'not managed' : name),
			EGS.make('b', null, EGS.value(EGS.source('map'), EGS.count(n))))),
		all.length > 12 && EGS.make('li', null, `and ${all.length - 12} more`));
};

EGS.map.marks = () => EGS.make('ul.legend.marks', { 'aria-label': 'Marks' },
	['train', 'infer', 'retrain', 'eval'].map(name => EGS.make('li', null,
		EGS.make(`i.mark-${name}`), name)),
	[['idle', 'held, idle'], ['free', 'free'], ['sick', 'unhealthy'],
		['loan', 'on loan'], ['leaving', 'asked to leave']].map(
		([mark, words]) => EGS.make('li', null,
			EGS.make(`i.mark-${mark}`), words)));

EGS.map.switch = function (redraw) {
	return EGS.make('div.switch', { role: 'group',
		'aria-label': 'Colour of the map' },
	['team', 'tier'].map(name => {
		const b = EGS.make('button', { type: 'button',
			'aria-pressed': String(EGS.map.colourBy === name) }, name);

		b.addEventListener('click', () => {
			EGS.map.colourBy = name;
			redraw();
		});
		return b;
	}));
};

EGS.map.table = function (rows) {
	const details = EGS.make('details', null,
		EGS.make('summary', null, 'The map as a table'));

	details.addEventListener('toggle', () => {
		EGS.map.open = details.open;
		if (details.open && details.children.length === 1)
			details.append(EGS.map.makeTable(rows));
	});
	details.open = Boolean(EGS.map.open);
	return details;
};

EGS.map.makeTable = rows => EGS.table('GPUs by node', [
	['node', 'Node'], ['type', 'Type'], ['gpus', 'GPUs'],
	['count', 'Count', 'n'], ['state', 'State'], ['team', 'Team'],
	['tier', 'Tier'], ['phase', 'Phase'], ['loan', 'Loan'],
	['jobid', 'Job', '', r => EGS.jobLink(r.jobid)], ['user', 'User'],
	['sm', 'SM %', 'n'], ['left', 'Left s', 'n']], rows);

/* A canvas is made once: it keeps the focus when the data changes. */
EGS.map.prepare = function () {
	const map = EGS.map;

	map.canvas = EGS.make('canvas', { 'aria-hidden': 'true' });
	map.words = EGS.make('p.words', { 'aria-live': 'polite' }, map.hint());
	map.frame = EGS.make('div.map', { tabindex: 0, role: 'application',
		'aria-roledescription': 'map of GPUs',
		'aria-label': 'GPUs by node; arrow keys move, Enter opens the job' },
	map.canvas);
	map.canvas.addEventListener('pointermove', map.point);
	map.canvas.addEventListener('pointerleave',
		() => { map.words.textContent = map.hint(); });
	map.canvas.addEventListener('click', event => {
		const hit = map.find(event);

		if (hit && hit.row && hit.row.jobid !== '-')
			location.hash = EGS.jobLink(hit.row.jobid);
	});
	map.frame.addEventListener('keydown', map.press);
	new ResizeObserver(map.draw).observe(map.frame);
};

EGS.map.panel = function (rows, redraw) {
	const sums = EGS.map.sums(rows);

	if (!EGS.map.frame)
		EGS.map.prepare();
	EGS.map.nodes = EGS.map.collect(rows);
	const panel = EGS.panel('gpumap', 'GPUs', EGS.source('map'),
		EGS.make('div.tools', null, EGS.map.legend(rows),
			EGS.map.switch(redraw)),
		EGS.map.frame, EGS.map.words, EGS.map.marks(),
		EGS.make('p.sums', null, `${EGS.count(sums.held)} of ${
			EGS.plural(sums.all, 'GPU')} in use, ${
			EGS.count(sums.idle)} of them idle, ${
			EGS.count(sums.free)} free, ${
			EGS.count(sums.sick)} unhealthy, ${
			EGS.count(sums.fenced)} fenced, ${
			EGS.count(sums.down)} down`),
		EGS.map.table(rows));

	requestAnimationFrame(EGS.map.draw);
	return panel;
};
