/* details.js - the page of a job, and the page of a workload */
'use strict';

EGS.details = {};

EGS.details.fact = (name, value, command) => value !== undefined &&
	value !== null && value !== '' && EGS.make('div', null,
	EGS.make('dt', null, name), EGS.make('dd', null, String(value)),
	command && EGS.command(command));

EGS.details.refused = (title, answer, command) => EGS.panel('refused', title,
	command, EGS.make('p.empty', null, answer.error));

/* ---- a job ---- */

EGS.details.why = function (id, why) {
	const command = `egs why ${id}`;

	if (why.error)
		return EGS.details.refused('Why', why, command);
	return EGS.panel('why', 'Why', command,
		EGS.make('p.sentence', null, why.why || ''),
		EGS.make('dl.facts', null,
			EGS.details.fact('Team', why.team),
			EGS.details.fact('Tier', why.tier),
			EGS.details.fact('GPUs', why.gpus),
			EGS.details.fact('Start', why.estimate),
			EGS.details.fact('Slurm\u2019s reason', why.reason),
			EGS.details.fact('Last checkpoint', why.saved),
			EGS.details.fact('Progress', why.progress),
			EGS.details.fact('Fenced', why.fenced),
			EGS.details.fact('EGS is paused', why.paused)));
};

EGS.details.gpus = function (id, answer) {
	const command = `egs gpu ${id}`, rows = EGS.rows(answer);

	if (answer.error)
		return EGS.details.refused('GPUs', answer, command);
	return EGS.panel('gpus', 'GPUs', command, EGS.table('GPUs of the job', [
		['node', 'Node'], ['gpu', 'GPU', 'n'], ['type', 'Type'],
		['sm', 'SM %', 'n'], ['mem', 'Memory MiB', 'n'],
		['memtotal', 'of MiB', 'n'], ['power', 'Power W', 'n'],
		['temp', 'Temp °C', 'n'], ['age', 'Age s', 'n'],
		['note', 'Note']], rows));
};

EGS.details.history = function (id, why) {
	const rows = EGS.rows(why);

	return rows.length > 0 && EGS.panel('history', 'What happened',
		`egs why ${id}`, EGS.table('Events of the job, newest first', [
			['time', 'Time'], ['what', 'What'], ['who', 'By'],
			['reason', 'Reason']], rows));
};

EGS.details.losses = function (id, answer) {
	const command = 'egs-report preemptions -S now-7days';
	const rows = EGS.rows(answer).filter(r => String(r.jobid) === id)
		.map(r => ({ ...r, asked: EGS.clock(r.asked, true) }));

	if (answer.error)
		return EGS.details.refused('What it lost', answer, command);
	return EGS.panel('losses', 'What preemptions cost it, last seven days',
		command, rows.length ? [
			EGS.make('p.sentence', null, `${EGS.count(EGS.sum(rows,
				'lost'))} GPU-seconds in ${EGS.plural(rows.length,
				'preemption')}.`),
			EGS.table('Preemptions of the job', [['asked', 'Asked'],
				['gpus', 'GPUs', 'n'], ['byjob', 'For job'],
				['byteam', 'of team'], ['how', 'How'],
				['lostwork', 'Lost work s', 'n'],
				['held', 'Held s', 'n'], ['restart', 'Restart s', 'n'],
				['lost', 'Lost GPU-s', 'n'], ['reason', 'Reason']], rows)] :
			EGS.make('p.empty', null, 'It was not preempted.'));
};

EGS.details.job = function (id, data) {
	return [EGS.make('h1', null, `Job ${id}`),
		EGS.details.why(id, data.why || {}),
		EGS.details.gpus(id, data.gpus || {}),
		EGS.details.losses(id, data.preemptions || {}),
		EGS.details.history(id, data.why || {})];
};

/* ---- a workload ---- */

EGS.details.workload = function (name, data) {
	const rows = EGS.rows(data.workload).map(r => ({ ...r,
		first: EGS.clock(r.first, true), last: EGS.clock(r.last, true) }));
	const life = EGS.rows(data.usage).filter(r => r.workload === name ||
		r.workload.startsWith(`${name}/`));
	const names = [...new Set(life.map(r => r.workload))];

	return [EGS.make('h1', null, `Workload ${name}`),
		EGS.panel('life', 'GPUs over time, last seven days',
			'egs-report usage --by=workload,phase --every=hour -S now-7days',
			names.length ? names.map(n => EGS.panels.lifeOf(life, n, 1080)) :
				EGS.make('p.empty', null, 'It used no GPU.')),
		EGS.panel('phases', 'Phase by phase, last 30 days',
			`egs-report workload ${name}`,
			data.workload && data.workload.error ?
				EGS.make('p.empty', null, data.workload.error) :
				EGS.table('Phases of the workload', [
					['workload', 'Workload'], ['phase', 'Phase'],
					['tier', 'Tier'], ['type', 'Type'],
					['runs', 'Runs', 'n'], ['first', 'First'],
					['last', 'Last'], ['gpus', 'Most GPUs', 'n'],
					['gputime', 'GPU-h', 'n'],
					['cost', 'Cost', 'n']], rows))];
};
