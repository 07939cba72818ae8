/* panels.js - the panels of the first view, each a function of the data */
'use strict';

EGS.panels = {};

/* ---- headline: five numbers ---- */

EGS.panels.tile = function (id, label, value, words, command, tone) {
	return EGS.make(`div.tile${tone ? `.${tone}` : ''}`, { id: `tile-${id}` },
		EGS.make('h2', null, label),
		EGS.make('p.value', null, EGS.value(command, value)),
		EGS.make('p.words', null, words),
		EGS.command(command));
};

EGS.panels.headline = function (now, today) {
	const sums = EGS.map.sums(now.map), waiting = EGS.sum(now.waiting, 'jobs');
	const leaving = EGS.panels.leaving(now), waste = EGS.panels.wasteOf(today);
	const share = sums.all ? sums.held / sums.all : 0;

	return EGS.make('section.tiles', { 'aria-label': 'Summary' },
		EGS.panels.tile('used', 'GPUs in use', EGS.percent(share, 0),
			`${EGS.count(sums.held)} of ${EGS.count(sums.all)}`,
			EGS.source('map')),
		EGS.panels.tile('idle', 'Held and idle', EGS.count(sums.idle),
			sums.idle ? 'jobs hold them and do not use them' :
				'no job is seen to hold an idle GPU',
			EGS.source('map'), sums.idle ? 'warn' : ''),
		EGS.panels.tile('waiting', 'Jobs waiting', EGS.count(waiting),
			waiting ? `for ${EGS.plural(EGS.sum(now.waiting, 'gpus'),
				'GPU')}` : 'nothing waits for a GPU',
			EGS.source('waiting')),
		EGS.panels.tile('leaving', 'Being preempted',
			EGS.count(leaving.length),
			leaving.length ? `${EGS.plural(EGS.sum(leaving, 'gpus'),
				'GPU')} change hands` : 'no job was asked to leave',
			EGS.panels.leavingSource(now, leaving), leaving.length ? 'warn' : ''),
		EGS.panels.tile('wr', 'Wastage Ratio today',
			waste ? EGS.ratio(waste.wr) : '–',
			waste ? `${EGS.chart.format(EGS.number(waste.wasted))} GPU-h ` +
				'idle while jobs were blocked' : 'no data yet',
			EGS.source('wastage'), waste && waste.wr > 0.1 ? 'warn' : ''));
};

EGS.panels.wasteOf = today => today && today.wastage
	.find(r => r.scope === 'gpu');

/* ---- teams ---- */

EGS.panels.teamBar = function (r, scale) {
	const quota = EGS.number(r.quota_now), owned = EGS.number(r.owned);
	const loan = EGS.number(r.onloan), lent = EGS.number(r.lent);
	const free = Math.max(0, quota - owned - lent);
	const wide = n => ({ width: `${100 * n / scale}%` });

	return EGS.make('div.teambar', { 'aria-hidden': 'true' },
		EGS.make('span.owned', { style: {
			...wide(owned), background: EGS.teamColour(r.team) } }),
		EGS.make('span.unused', { style: wide(free) }),
		EGS.make('span.lent', { style: {
			...wide(lent), color: EGS.teamColour(r.team) } }),
		EGS.make('span.quota'),
		EGS.make('span.borrowed', { style: {
			...wide(loan), color: EGS.teamColour(r.team) } }));
};

EGS.panels.teamRow = function (r, scale) {
	const n = value => EGS.value(EGS.source('teams'), value);
	const words = [n(r.owned), ' of ', n(r.quota_now), ' own'];

	if (EGS.number(r.onloan))
		words.push(' · borrows ', n(r.onloan));
	if (EGS.number(r.lent))
		words.push(' · lends ', n(r.lent));
	if (EGS.number(r.unmanaged))
		words.push(' · ', n(r.unmanaged), ' unmanaged');
	if (r.quota !== r.quota_now)
		words.push(' · quota ', n(r.quota), ', less while nodes are down');
	return EGS.make('li.team', { 'data-team': r.team, 'data-type': r.type },
		EGS.make('p', null, EGS.make('b', null, r.team),
			EGS.make('span', null, r.type === '-' ? '' : ` ${r.type}`)),
		EGS.panels.teamBar(r, scale),
		EGS.make('p.soft', null, words));
};

EGS.panels.teams = function (now) {
	const scale = Math.max(1, ...now.teams.map(r => EGS.number(r.quota_now) +
		EGS.number(r.onloan)));
	const rows = [...now.teams].sort((a, b) =>
		EGS.number(b.quota) - EGS.number(a.quota) ||
		EGS.order(a.team, b.team));

	return EGS.panel('teams', 'Teams against their quota',
		EGS.source('teams'),
		rows.length ? EGS.make('ul.shares', null,
			rows.map(r => EGS.panels.teamRow(r, scale))) :
			EGS.make('p.empty', null, 'egs.conf has no Team= record.'),
		EGS.make('ul.legend.marks', { 'aria-label': 'Marks' },
			[['owned', 'own'], ['unused', 'own, free'],
				['lent', 'lent to others'],
				['borrowed', 'borrowed']].map(([mark, words]) =>
				EGS.make('li', null, EGS.make(`i.mark-${mark}`), words))));
};

/* ---- who waits ---- */

/* Behind jobs without a time limit Slurm expects a start in a year. */
EGS.panels.isNear = until => until !== '-' &&
	EGS.parseStamp(until) - EGS.now_s() < 300 * 86400;

EGS.panels.waitingRow = function (r) {
	const who = r.jobid === '-' ?
		EGS.make('b', null, EGS.plural(EGS.number(r.jobs), 'job')) :
		EGS.make('a', { href: EGS.jobLink(r.jobid) }, `Job ${r.jobid}`);

	return EGS.make('li.wait', { 'data-job': r.jobid },
		EGS.make('p.who', null, who,
			r.user !== '-' && EGS.make('span', null, r.user),
			EGS.make('span', null, EGS.make('i', { style: {
				background: EGS.teamColour(r.team) } }),
			r.team === '-' ? 'no team' : r.team),
			r.tier !== '-' && EGS.make('span', null, r.tier),
			r.phase !== '-' && EGS.make('span', null, r.phase)),
		EGS.make('p.want', null, EGS.make('b', null,
			EGS.value(EGS.source('waiting'),
				EGS.plural(EGS.number(r.gpus), 'GPU'))),
		` waiting ${EGS.duration(r.waited)}`,
		EGS.panels.isNear(r.until) && EGS.make('span', null,
			` · until ${EGS.shortTime(r.until)}`)),
		r.why !== '-' && EGS.make('p.soft', null,
			r.why.replace(/^job [^:]*: */, '')));
};

EGS.panels.waiting = function (now) {
	return EGS.panel('waiting', 'Who waits, and why', EGS.source('waiting'),
		now.waiting.length ? EGS.make('ul.waits', { tabindex: 0,
			'aria-label': 'Jobs that wait' },
		now.waiting.map(EGS.panels.waitingRow)) :
			EGS.make('p.empty', null, 'No job waits for a GPU.'));
};

/* ---- preemptions under way ---- */

/* Those whose names the viewer may see; others only as GPUs of the map. */
EGS.panels.leaving = function (now) {
	const known = new Set(now.preemptions.map(r => r.jobid)), hidden = new Map();

	for (const r of now.map) {
		if (r.left === '-' || known.has(r.jobid))
			continue;
		const key = `${r.team} ${r.jobid} ${r.left}`;
		const old = hidden.get(key) || { jobid: '-', user: '-', team: r.team,
			gpus: 0, keeps: 0, byjob: '-', byteam: '-', left: r.left,
			state: 'asked' };

		old.gpus += EGS.number(r.count);
		hidden.set(key, old);
	}
	return [...now.preemptions, ...hidden.values()]
		.sort((a, b) => EGS.number(a.left) - EGS.number(b.left));
};

/* The command that shows all of them to this viewer. */
EGS.panels.leavingSource = (now, rows) => EGS.source(
	rows.length > now.preemptions.length ? 'map' : 'preemptions');

EGS.panels.leavingRow = function (r, made) {
	const until = made + EGS.number(r.left);
	const job = r.jobid === '-' ? EGS.make('b', null, `a job of ${r.team}`) :
		EGS.make('a', { href: EGS.jobLink(r.jobid) }, `Job ${r.jobid}`);
	const verb = EGS.number(r.keeps) ? `shrinks to ${r.keeps} GPUs` :
		`leaves ${EGS.plural(EGS.number(r.gpus), 'GPU')}`;

	return EGS.make('li.leave', { 'data-job': r.jobid },
		EGS.make('p.count', { 'data-until': until }, ''),
		EGS.make('p.who', null, job, r.user !== '-' &&
			EGS.make('span', null, `${r.user}, ${r.team}`),
		EGS.make('span.chip', null, r.state)),
		EGS.make('p.soft', null, r.byjob === '-' ? verb :
			`${verb} for job ${r.byjob} of ${r.byteam}`));
};

EGS.panels.preemptions = function (now) {
	const rows = EGS.panels.leaving(now);

	return EGS.panel('leaving', 'Preemptions under way',
		EGS.panels.leavingSource(now, rows),
		rows.length ? EGS.make('ul.leaves', { tabindex: 0,
			'aria-label': 'Jobs that leave' },
			rows.map(r => EGS.panels.leavingRow(r, now.made))) :
			EGS.make('p.empty', null, 'No job was asked to leave its GPUs.'));
};

/* Every second, between two reads. */
EGS.panels.countDown = function () {
	for (const e of document.querySelectorAll('[data-until]')) {
		const left = Math.max(0, e.dataset.until - EGS.now_s());

		e.textContent = left >= 60 ? `${Math.floor(left / 60)}:${
			String(Math.floor(left % 60)).padStart(2, '0')}` :
			`${Math.ceil(left)} s`;
	}
};

/* ---- waste ---- */

EGS.panels.causeNames = { unhealthy: 'unhealthy', reservation: 'reserved',
	constraint: 'constraints', quota: 'quota or limit', gang: 'waits for a gang',
	teardown: 'grace or teardown', stranded: 'no cores or memory',
	fragmentation: 'fragmented', latency: 'scheduler latency' };

EGS.panels.causeColumns = answer => answer.columns.filter(
	name => name.toLowerCase() in EGS.panels.causeNames);

EGS.panels.causes = function (answer, row) {
	return EGS.panels.causeColumns(answer).map((name, i) => ({
		name: EGS.panels.causeNames[name.toLowerCase()] || name.toLowerCase(),
		value: EGS.number(row[name.toLowerCase()]),
		colour: `var(--cause${i % 9})`,
	})).filter(p => p.value > 0).sort((a, b) => b.value - a.value);
};

EGS.panels.waste = function (today) {
	const row = EGS.panels.wasteOf(today);
	const command = EGS.source('wastage');

	if (!row)
		return EGS.panel('waste', 'Wasted GPU time today', command,
			EGS.make('p.empty', null, EGS.panels.missing(today, 'wastage')));
	const causes = EGS.panels.causes(today.answers.wastage, row);

	return EGS.panel('waste', 'Wasted GPU time today', command,
		EGS.make('dl.facts', null, [
			['Wastage Ratio', EGS.ratio(row.wr)],
			['a blocked job would have fitted',
				EGS.ratio(row.wrfit)],
			['of all GPU time', EGS.ratio(row.wrgpu)],
			['held, not used', EGS.ratio(row.wrheld)],
		].map(([name, value]) => EGS.make('div', null,
			EGS.make('dt', null, name),
			EGS.make('dd', null, EGS.value(command, value))))),
		causes.length ? EGS.chart.parts('GPU-hours wasted by cause', causes,
			'GPU-h', command) :
			EGS.make('p.empty', null, 'No GPU time was wasted.'),
		EGS.panels.wasteByHour(today));
};

EGS.panels.wasteByHour = function (today) {
	const rows = today.wastage_hours.filter(r => r.scope === 'gpu');
	const data = EGS.chart.collect(rows, () => 'Wastage Ratio', 'wr', 3600);

	return data.at.length > 1 && EGS.chart.overTime({ ...data, height: 120, width: 420,
		title: 'Wastage Ratio by hour', stacked: false,
		value: (i, k) => data.has(i, k) ? data.value(i, k) : null,
		colour: () => 'var(--bad)', source: EGS.source('wastage_hours') });
};

EGS.panels.missing = (today, key) => today && today.answers[key] &&
	today.answers[key].error ? today.answers[key].error : 'No data yet.';

/* ---- utilisation ---- */

EGS.panels.busyOf = function (rows) {
	const measured = rows.filter(r => r.sm !== '-');
	const count = EGS.sum(measured, 'count');

	return count ? { count, pct: measured.reduce((sum, r) =>
		sum + EGS.number(r.sm) * EGS.number(r.count), 0) / count } : null;
};

EGS.panels.busyRow = function (name, busy, colour) {
	return EGS.make('li', null, EGS.make('p', null, EGS.make('b', null, name),
		EGS.make('span', null, ` ${EGS.plural(busy.count, 'GPU')}`)),
	EGS.make('div.gauge', { role: 'img',
		'aria-label': `${name}: ${busy.pct.toFixed(0)} % busy` },
	EGS.make('span', { style: { width: `${busy.pct}%`, background: colour } })),
	EGS.make('p.n', null, EGS.value(EGS.source('map'),
		`${busy.pct.toFixed(0)} %`)));
};

EGS.panels.utilisation = function (now, today) {
	const all = EGS.panels.busyOf(now.map);
	const teams = [...new Set(now.map.map(r => r.team))].sort(EGS.order)
		.map(name => [name, EGS.panels.busyOf(
			now.map.filter(r => r.team === name))]).filter(([, b]) => b);

	return EGS.panel('busy', 'How busy the GPUs are', EGS.source('map'),
		all ? EGS.make('ul.rates', null,
			EGS.panels.busyRow('All that you see', all, 'var(--ink)'),
			teams.map(([name, b]) => EGS.panels.busyRow(
				name === '-' ? 'no team' : name, b, EGS.teamColour(name)))) :
			EGS.make('p.empty', null, 'No GPU that you may see is ' +
				'measured. egs-noded measures where NVML is.'),
		EGS.panels.usage(today));
};

EGS.panels.usage = function (today) {
	const rows = today ? today.usage : [];
	const data = EGS.chart.collect(rows, r => r.team === '-' ? 'no team' : r.team,
		'gputime', 3600);

	return data.at.length > 1 && EGS.chart.overTime({ ...data, stacked: true,
		title: 'GPUs in use by team, last 24 hours',
		colour: name => EGS.teamColour(name), source: EGS.source('usage') });
};

/* ---- workloads ---- */

EGS.panels.lifeOf = function (rows, name, width) {
	const mine = rows.filter(r => r.workload === name);
	const data = EGS.chart.collect(mine, r => r.phase === '-' ? 'no phase' :
		r.phase, 'gputime', 3600);

	return EGS.chart.overTime({ ...data, height: width / 3.5, width, stacked: true,
		title: `GPUs of ${name} by phase`, colour: EGS.phaseColour });
};

EGS.panels.workloads = function (today) {
	const rows = today ? today.workloads.filter(r => r.workload &&
		r.workload !== '-') : [];
	const size = name => EGS.sum(rows.filter(r => r.workload === name), 'gputime');
	const names = [...new Set(rows.map(r => r.workload))]
		.sort((a, b) => size(b) - size(a));

	return EGS.panel('workloads', 'Workloads, last two days',
		EGS.source('workloads'),
		names.length ? EGS.make('div.lives', null, names.slice(0, 6).map(name =>
			EGS.make('div.life', null, EGS.make('h3', null,
				EGS.make('a', { href: EGS.workloadLink(name) }, name)),
			EGS.panels.lifeOf(rows, name, 420)))) :
			EGS.make('p.empty', null, today ? 'No job names a workload: ' +
				'sbatch --workload=NAME.' : 'No data yet.'),
		names.length > 6 && EGS.make('p.soft', null, 'Others: ',
			names.slice(6, 40).map((name, i) => [i ? ', ' : '',
				EGS.make('a', { href: EGS.workloadLink(name) }, name)])));
};
