/* page.js - read the data, show the view that the address names, tell its age */
'use strict';

EGS.page = { read_ms: 2000, today_ms: 60000, views: new Map(),
	refusals: [403, 429] };

/* ---- the data ---- */

/* Answers of egs-policyd as rows, under the same names. */
EGS.page.unpack = function (body, names) {
	const data = { answers: body, made: body.made, cluster: body.cluster };

	EGS.zone_s = body.zone_s;

	for (const name of names)
		data[name] = EGS.rows(body[name]);
	return data;
};

EGS.page.takeNow = function (body) {
	EGS.page.now = EGS.page.unpack(body, ['teams', 'map', 'waiting',
		'preemptions', 'tiers']);
	EGS.learnColours(EGS.page.now.teams, EGS.page.now.tiers);
};

EGS.page.takeToday = function (body) {
	EGS.page.today = EGS.page.unpack(body, ['wastage', 'wastage_hours', 'usage',
		'workloads']);
};

/* What the notice says of the present; reports may be older. */
EGS.page.note = function (query, words) {
	if (query === 'what=now')
		EGS.page.away = words;
};

/* When to read again: soon if it was not ready, or an answer was refused. */
EGS.page.again = function (status, body, ms) {
	if (status !== 200)
		return EGS.page.refusals.includes(status) ? 5000 : 500;
	return body.away ? 2000 : Math.min(ms, body.again_s * 1000 || ms);
};

/* Read a document.  An answer may hold the last data of a daemon that is away:
 * { away: "sentence", last: {...} }.  Resolves to the time until the next.
 */
EGS.page.fetch = async function (query, ms, take) {
	try {
		const { status, body } = await EGS.read(query);

		EGS.page.note(query, body.away ||
			(EGS.page.refusals.includes(status) ? body.error : ''));
		if (status === 200 && (body.last || !body.away))
			take(body.last || body);
		return EGS.page.again(status, body, ms);
	} catch (error) {
		EGS.page.note(query, 'The server of this page does not answer; ' +
			'egs web may have ended.');
		return 500;
	}
};

EGS.page.wait = ms => new Promise(done => setTimeout(done, ms));

/* Read one document for ever. */
EGS.page.follow = async function (query, ms, take) {
	for (;;) {
		const again_ms = await EGS.page.fetch(query(), ms, take);

		EGS.page.show();
		await EGS.page.wait(again_ms);
		while (document.hidden)
			await EGS.page.wait(500);
	}
};

/* ---- the bar at the top ---- */

/* Since the daemon was asked, and since it had asked slurmctld by then. */
EGS.page.ageOf = now => Math.max(0, EGS.now_s() - now.made) +
	Math.max(0, EGS.number((now.answers.ping || {}).poll_age_s));

EGS.page.showState = function () {
	const now = EGS.page.now, state = document.getElementById('state');
	const notice = document.getElementById('notice');
	const ping = now && now.answers.ping || {};
	const age = now ? EGS.page.ageOf(now) : null;
	const old = age === null || age > 30 || EGS.page.away;

	state.replaceChildren(...[
		ping.mode && EGS.make(`span.chip.${ping.paused ? 'paused' : ping.mode}`,
			null, ping.paused ? 'paused' : ping.mode),
		EGS.make(`span.age${old ? '.old' : ''}`, { id: 'age' },
			age === null ? 'no data yet' : `data ${EGS.duration(age)} old`),
	].filter(Boolean));
	const words = EGS.page.away ||
		(ping.slurmctld && ping.slurmctld !== 'up' ?
			`slurmctld: ${ping.slurmctld}; this is the last known state.` :
			ping.paused ? `EGS is paused: ${ping.reason}` : '');

	if (notice.textContent !== words)
		notice.textContent = words;
	notice.hidden = !words;
};

EGS.page.showFrame = function () {
	const now = EGS.page.now;

	document.getElementById('cluster').textContent = now.cluster || '';
	document.title = `EGS ${now.cluster || ''}`;
	const who = now.answers.viewer;

	document.getElementById('foot').textContent = `${who ?
		`You see what the commands show ${who}.` :
		'Sums without names of users and jobs.'} Read-only. Version ${
		(now.answers.ping || {}).version || '?'}.`;
};

/* ---- views ---- */

/* Replace a panel only if its data has changed: focus and scrolling stay. */
EGS.page.place = function (main, key, facts, make) {
	const text = JSON.stringify(facts), old = EGS.page.views.get(key);

	if (old && old.text === text && old.element.parentNode === main)
		return old.element;
	const element = make(), at = EGS.page.focusIn(old && old.element);
	const kept = old && EGS.page.keepView(old.element);

	if (old && old.element.parentNode === main)
		old.element.replaceWith(element);
	else
		main.append(element);
	EGS.page.views.set(key, { text, element });
	EGS.page.restoreFocus(element, at);
	if (kept)
		EGS.page.restoreView(element, kept);
	return element;
};

/* What a viewer has opened, and where he has scrolled to. */
EGS.page.keepView = e => ({
	open: [...e.querySelectorAll('details')].map(d => d.open),
	scroll: [...e.querySelectorAll('[tabindex]')]
		.map(s => [s.scrollLeft, s.scrollTop]) });

EGS.page.restoreView = function (e, kept) {
	e.querySelectorAll('details').forEach((d, i) => {
		if (i < kept.open.length)
			d.open = kept.open[i];
	});
	e.querySelectorAll('[tabindex]').forEach((s, i) => {
		if (i < kept.scroll.length)
			s.scrollTo(...kept.scroll[i]);
	});
};

EGS.page.focusable = e => [...e.querySelectorAll('a, button, summary, [tabindex]')];

EGS.page.focusIn = e => e && e.contains(document.activeElement) ?
	EGS.page.focusable(e).indexOf(document.activeElement) : -1;

EGS.page.restoreFocus = function (e, at) {
	const found = at < 0 ? null : EGS.page.focusable(e)[at];

	if (found)
		found.focus({ preventScroll: true });
};

EGS.page.clear = function (main) {
	EGS.page.views.clear();
	main.replaceChildren();
};

EGS.page.showNow = function (main) {
	const { now, today } = EGS.page, map = EGS.map.colourBy;
	const place = (key, facts, make) => EGS.page.place(main, key, facts, make);
	const waste = EGS.panels.wasteOf(today);

	if (!main.querySelector('h1'))
		main.append(EGS.make('h1.hidden', null, 'The cluster now'));
	place('tiles', [now.map, now.waiting.map(r => [r.jobs, r.gpus]),
		now.preemptions.map(r => r.jobid), waste],
	() => EGS.panels.headline(now, today));
	place('map', [now.map, map], () => EGS.map.panel(now.map, EGS.page.show));
	place('teams', now.teams, () => EGS.panels.teams(now));
	place('waiting', now.waiting, () => EGS.panels.waiting(now));
	place('leaving', [now.preemptions, now.map.map(r => r.left)],
		() => EGS.panels.preemptions(now));
	place('waste', today && today.answers, () => EGS.panels.waste(today));
	place('busy', [now.map, today && today.usage],
		() => EGS.panels.utilisation(now, today));
	place('workloads', today && today.workloads,
		() => EGS.panels.workloads(today));
	EGS.panels.countDown();
};

/* A page of its own: #/job/12, #/workload/fraud, #/command/why/12. */
EGS.page.route = function () {
	const [, kind, rest] = location.hash
		.match(/^#\/(job|workload|command)\/(.+)$/) || [];
	const [key, arg] = kind === 'command' ? rest.split('/') : ['', rest];

	if (!kind || (kind === 'command' && !Object.hasOwn(EGS.sources, key)))
		return null;
	try {
		return { kind, key, what: kind === 'command' ?
			EGS.sources[key][1] : kind,
		arg: arg === undefined ? arg : decodeURIComponent(arg) };
	} catch (error) {
		return null; /* a % without its digits */
	}
};

EGS.page.queryOf = function (route) {
	const name = { job: 'id', workload: 'name' }[route.what];

	return `what=${route.what}${name ?
		`&${name}=${encodeURIComponent(route.arg)}` : ''}`;
};

EGS.page.showDetail = function (main, route) {
	const detail = EGS.page.detail;

	if (!detail || detail.hash !== location.hash) {
		main.replaceChildren(EGS.make('p.loading', null, 'Reading the data …'));
		return;
	}
	for (const e of main.querySelectorAll('.loading'))
		e.remove();
	EGS.page.place(main, location.hash, detail.body, () => EGS.make(
		'div.detail', null, EGS.make('p', null,
			EGS.make('a', { href: '#/' }, '← The cluster now')),
		route.kind === 'command' ? EGS.details.command(route, detail.body) :
			EGS.details[route.kind](route.arg, detail.body)));
};

EGS.page.followDetail = async function () {
	for (;;) {
		const route = EGS.page.route(), hash = location.hash;

		if (route && EGS.page.detail && EGS.page.detail.hash !== hash)
			EGS.page.detail = null;
		const again_ms = !route ? 300 : await EGS.page.fetch(
			EGS.page.queryOf(route), 3000,
			body => { EGS.page.detail = { hash, body }; });

		if (route)
			EGS.page.show();
		await EGS.page.wait(again_ms);
	}
};

EGS.page.show = function () {
	const main = document.getElementById('main'), route = EGS.page.route();
	const view = route ? location.hash : 'now';

	EGS.page.showState();
	if (!EGS.page.now)
		return;
	EGS.page.showFrame();
	if (EGS.page.view !== view) {
		EGS.page.clear(main);
		if (EGS.page.view)
			main.focus();
		EGS.page.view = view;
	}
	main.className = route ? 'one' : 'many';
	if (route)
		EGS.page.showDetail(main, route);
	else
		EGS.page.showNow(main);
};

/* ---- light and dark ---- */

EGS.page.setTheme = function (theme) {
	document.documentElement.dataset.theme = theme;
	document.getElementById('theme').textContent =
		theme === 'dark' ? 'Light' : 'Dark';
	if (EGS.map.frame)
		EGS.map.draw();
};

EGS.page.prepareTheme = function () {
	const dark = matchMedia('(prefers-color-scheme: dark)');

	EGS.page.setTheme(dark.matches ? 'dark' : 'light');
	dark.addEventListener('change',
		() => EGS.page.setTheme(dark.matches ? 'dark' : 'light'));
	document.getElementById('theme').addEventListener('click', () =>
		EGS.page.setTheme(document.documentElement.dataset.theme === 'dark' ?
			'light' : 'dark'));
};

EGS.page.start = function () {
	const embedded = document.getElementById('egs-data');

	EGS.page.prepareTheme();
	if (embedded) {
		EGS.report.show(JSON.parse(embedded.textContent));
		return;
	}
	addEventListener('hashchange', EGS.page.show);
	setInterval(() => {
		EGS.page.showState();
		EGS.panels.countDown();
	}, 1000);
	EGS.page.follow(() => 'what=now', EGS.page.read_ms, EGS.page.takeNow);
	EGS.page.follow(() => 'what=today', EGS.page.today_ms, EGS.page.takeToday);
	EGS.page.followDetail();
};

EGS.page.start();
