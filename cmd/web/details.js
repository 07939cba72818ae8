/* details.js - the page of a job, of a workload, and of a command */
'use strict';

EGS.details = {};

EGS.details.fact = (name, value, source) => value !== undefined &&
	value !== null && value !== '' && EGS.make('div', null,
	EGS.make('dt', null, name),
	EGS.make('dd', null, source ? EGS.value(source, value) : String(value)));

EGS.details.refused = (title, answer, source) => EGS.panel('refused', title,
	source, EGS.make('p.empty', null, answer.error));

/* ---- a job ---- */

EGS.details.why = function (id, why) {
	const source = EGS.source('why', id);
	const fact = (name, value) => EGS.details.fact(name, value, source);

	if (why.error)
		return EGS.details.refused('Why', why, source);
	return EGS.panel('why', 'Why', source,
		EGS.make('p.sentence', null, why.why || ''),
		[why.warning, why.idle_gpus, why.fenced, why.avoided, why.frozen]
			.map(text => text && EGS.make('p.warning', null, text)),
		EGS.make('dl.facts', null, fact('Team', why.team),
			fact('Tier', why.tier), fact('GPUs', why.gpus),
			fact('Start', why.estimate), fact('End', why.end),
			fact('Run time', why.run),
			fact('Slurm\u2019s reason', why.reason),
			fact('Last checkpoint', why.saved),
			fact('Progress', why.progress),
			fact('EGS is paused', why.paused)));
};

/* Moments of a job's life: when it saved, and when it was asked to leave. */
EGS.details.moments = function (why, losses) {
	const saved = [why.saved_at, ...losses.map(r => r.saved)]
		.filter(at => EGS.number(at))
		.map(at => ({ at: EGS.number(at), name: 'checkpoint',
			colour: 'var(--good)' }));
	const asked = losses.map(r => ({ at: EGS.number(r.asked),
		name: 'asked to leave', colour: 'var(--bad)' }));

	return [...saved, ...asked];
};

/* Rows of life: a phase, or that the job was suspended. */
EGS.details.phaseOf = r => r.suspended === 'yes' ? 'suspended' :
	r.phase === '-' ? 'no phase' : r.phase;

EGS.details.lifeTable = rows => EGS.table('GPUs from change to change', [
	['jobid', 'Job', '', r => EGS.jobLink(r.jobid)],
	['restarts', 'Restarts', 'n'], ['from', 'From'], ['until', 'Until'],
	['gpus', 'GPUs', 'n'], ['type', 'Type'], ['phase', 'Phase'],
	['tier', 'Tier'], ['loan', 'Loan'], ['suspended', 'Suspended'],
	['gputime', 'GPU-h', 'n']], rows.map(r => ({ ...r,
	from: EGS.stamp(r.start).replace('T', ' '),
	until: EGS.number(r.end) ? EGS.stamp(r.end).replace('T', ' ') : 'now' })));

/* answer: of life; marks: of EGS.chart.overLife(). */
EGS.details.life = function (title, source, answer, made, marks) {
	const rows = EGS.rows(answer);

	if (answer.error)
		return EGS.details.refused(title, answer, source);
	if (!rows.length)
		return EGS.panel('life', title, source, EGS.make('p.empty', null,
			'It has had no GPUs that you may see.'));
	return EGS.panel('life', title, source,
		EGS.chart.overLife({ title: 'GPUs by phase', marks,
			data: EGS.chart.collectLevels(rows, EGS.details.phaseOf, made),
			colour: EGS.phaseColour }),
		answer.next && EGS.make('p.soft', null, 'These are the first ' +
			`${EGS.count(rows.length)} changes; the command prints all.`),
		EGS.make('details', rows.length < 13 ? { open: '' } : null,
			EGS.make('summary', null, 'The line as a table'),
			EGS.details.lifeTable(rows)));
};

EGS.details.gpus = function (id, answer) {
	const source = EGS.source('gpus', id), rows = EGS.rows(answer);

	if (answer.error)
		return EGS.details.refused('GPUs now', answer, source);
	return EGS.panel('gpus', 'GPUs now', source, rows.length ? EGS.table(
		'GPUs of the job', [['node', 'Node'], ['gpu', 'GPU', 'n'],
			['type', 'Type'], ['sm', 'SM %', 'n'],
			['mem', 'Memory MiB', 'n'], ['memtotal', 'of MiB', 'n'],
			['power', 'Power W', 'n'], ['temp', 'Temp °C', 'n'],
			['age', 'Age s', 'n'], ['note', 'Note']], rows) :
		EGS.make('p.empty', null, 'It has no GPU now.'));
};

EGS.details.history = function (id, why) {
	const rows = EGS.rows(why);

	return rows.length > 0 && EGS.panel('history', 'What happened',
		EGS.source('why', id), EGS.table('Events of the job, newest first', [
			['time', 'Time'], ['what', 'What'], ['who', 'By'],
			['reason', 'Reason']], rows.map(r => ({ ...r,
			time: String(r.time).replace('T', ' ') }))));
};

EGS.details.lossesOf = (id, answer) => EGS.rows(answer)
	.filter(r => String(r.jobid) === id);

EGS.details.losses = function (id, answer) {
	const source = EGS.source('losses', id);
	const rows = EGS.details.lossesOf(id, answer)
		.map(r => ({ ...r, asked: EGS.clock(r.asked, true) }));
	const sum = key => EGS.sum(rows, key);

	if (answer.error)
		return EGS.details.refused('What it lost', answer, source);
	return EGS.panel('losses', 'What preemptions cost it, last seven days',
		source, rows.length ? [
			EGS.make('p.sentence', null, EGS.value(source,
				`${EGS.count(sum('lost'))} GPU-seconds`),
			` in ${EGS.plural(rows.length, 'preemption')}: lost work ${
				EGS.duration(sum('lostwork'))}, held ${
				EGS.duration(sum('held'))}, restart ${
				EGS.duration(sum('restart'))}.`),
			EGS.table('Preemptions of the job', [['asked', 'Asked'],
				['gpus', 'GPUs', 'n'], ['byjob', 'For job', '',
					r => EGS.jobLink(r.byjob)],
				['byteam', 'of team'], ['how', 'How'],
				['lostwork', 'Lost work s', 'n'],
				['held', 'Held s', 'n'], ['restart', 'Restart s', 'n'],
				['lost', 'Lost GPU-s', 'n'], ['reason', 'Reason']], rows)] :
			EGS.make('p.empty', null, 'It was not preempted.'));
};

EGS.details.job = function (id, data) {
	const none = { error: 'No data.' };
	const why = data.why || none, losses = data.losses || none;

	return [EGS.make('h1', null, `Job ${id}`),
		EGS.details.why(id, why),
		EGS.details.life('GPUs over time', EGS.source('life', id),
			data.life || none, data.made, EGS.details.moments(why,
				EGS.details.lossesOf(id, losses))),
		EGS.details.losses(id, losses),
		EGS.details.gpus(id, data.gpus || none),
		EGS.details.history(id, why)];
};

/* ---- a workload ---- */

/* A workload with more changes than one answer has is shown by hour. */
EGS.details.workloadByHour = function (name, data) {
	const rows = EGS.rows(data.workload_usage).filter(
		r => r.workload === name || r.workload.startsWith(`${name}/`));
	const names = [...new Set(rows.map(r => r.workload))];

	return EGS.panel('life', 'GPUs by hour, last seven days',
		EGS.source('workload_usage', name),
		names.map(n => EGS.panels.lifeOf(rows, n, 1080)));
};

EGS.details.phases = function (name, answer) {
	const source = EGS.source('workload', name);
	const rows = EGS.rows(answer).map(r => ({ ...r,
		first: EGS.clock(r.first, true), last: EGS.clock(r.last, true) }));

	if (answer.error)
		return EGS.details.refused('Phase by phase', answer, source);
	return EGS.panel('phases', 'Phase by phase, last 30 days', source,
		EGS.table('Phases of the workload', [
			['workload', 'Workload'], ['phase', 'Phase'],
			['tier', 'Tier'], ['type', 'Type'],
			['runs', 'Runs', 'n'], ['first', 'First'],
			['last', 'Last'], ['gpus', 'Most GPUs', 'n'],
			['gputime', 'GPU-h', 'n'], ['cost', 'Cost', 'n']], rows));
};

EGS.details.workload = function (name, data) {
	const life = data.workload_life || {};

	return [EGS.make('h1', null, `Workload ${name}`),
		life.next ? EGS.details.workloadByHour(name, data) :
			EGS.details.life('GPUs over time, last seven days',
				EGS.source('workload_life', name), life, data.made),
		EGS.details.phases(name, data.workload || {})];
};

/* ---- a command, and what it prints ---- */

EGS.details.copy = function (text) {
	const b = EGS.make('button', { type: 'button' }, 'Copy');

	b.addEventListener('click', () => navigator.clipboard.writeText(text).then(
		() => { b.textContent = 'Copied'; },
		() => { b.textContent = 'Select it to copy'; }));
	return b;
};

EGS.details.listOf = (answer, key) => Array.isArray(answer[key]) ? answer[key] :
	String(answer[key] || '').split(',');

EGS.details.printed = function (answer) {
	const times = EGS.details.listOf(answer, 'times');
	const numbers = EGS.details.listOf(answer, 'numbers');
	const show = (name, value) => !times.includes(name) ? value :
		EGS.number(value) ? EGS.stamp(value) : '-';
	const rows = EGS.rows(answer).map(r => Object.fromEntries(answer.columns.map(
		name => [name.toLowerCase(), show(name, r[name.toLowerCase()])])));
	const isNumber = name => numbers.includes(name) ||
		(rows.length > 0 && rows.every(
			r => typeof r[name.toLowerCase()] === 'number'));

	return EGS.table('What it prints', answer.columns.map(name => [
		name.toLowerCase(), name, isNumber(name) ? 'n' : '']), rows);
};

EGS.details.pairs = answer => EGS.make('dl.facts', null,
	Object.entries(answer).filter(([key, value]) => key !== 'ok' &&
		key !== 'columns' && typeof value !== 'object')
		.map(([key, value]) => EGS.details.fact(key, value)));

EGS.details.command = function (route, data) {
	const source = EGS.source(route.key, route.arg);
	const answer = data[route.key] || {};

	return [EGS.make('h1', null, EGS.make('code', null, source.text)),
		EGS.make('p', null, EGS.details.copy(source.text)),
		EGS.panel('printed', 'What it prints now', null, answer.error ?
			EGS.make('p.empty', null, answer.error) :
			[!answer.report && EGS.details.pairs(answer),
				answer.columns && EGS.details.printed(answer)])];
};
