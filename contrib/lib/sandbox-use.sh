# shellcheck shell=bash disable=SC2154
# sandbox-use.sh - the verbs for an existing sandbox: exec, logs, list, down

# sb_select ARG...: set 'names' from NAME or --all, by default $1, and 'rest'
# to the other arguments.
sb_select()
{
	local default=$1 arg

	shift
	names=() rest=()
	for arg; do
		case $arg in
		--all) mapfile -t names < <(sb_names) ; default= ;;
		-*) rest+=("$arg") ;;
		*) sb_check_name "$arg" && names+=("$arg") ;;
		esac
	done
	[ "${#names[@]}" -gt 0 ] || [ -z "$default" ] || sb_select "" "$default"
}

# sb_there NAME: refuse the name of a sandbox that does not exist.
sb_there()
{
	[ -d "$sb_dir/$1" ] || egs_die "no sandbox '$1' in $sb_dir"
}

sb_down()
{
	local names rest name rc=0

	sb_select egs "$@"
	[ "${#rest[@]}" -eq 0 ] || egs_bad_option "${rest[0]}"
	for name in "${names[@]}"; do
		sb_remove "$name"
		case $? in
		0) continue ;;
		1) echo "$egs_me: no sandbox '$name' in $sb_dir" >&2 ;;
		esac
		rc=1
	done
	return "$rc"
}

sb_list()
{
	local names rest name version nodes pid

	sb_select --all "$@"
	[ "${#rest[@]}" -eq 0 ] || egs_bad_option "${rest[0]}"
	printf '%-20s %-10s %5s %-8s %s\n' NAME VERSION NODES STATE PID
	for name in "${names[@]}"; do
		[ -d "$sb_dir/$name~" ] || sb_there "$name"
		version=- nodes=-
		{ read -r version nodes <"$sb_dir/$name/info"; } 2>/dev/null
		pid=$(sb_pid "$sb_dir/$name" init) || pid=-
		printf '%-20s %-10s %5s %-8s %s\n' "$name" "$version" \
			"$nodes" "$(sb_state "$name")" "$pid"
	done
}

sb_logs()
{
	local names rest name arg lines=50 follow=() files=()

	sb_select egs "$@"
	for arg in ${rest+"${rest[@]}"}; do
		case $arg in
		--lines=*) lines=${arg#*=} ;;
		--follow) follow=(--follow=name) ;;
		*) egs_bad_option "$arg" ;;
		esac
	done
	[[ $lines =~ ^[0-9]{1,9}$ ]] || egs_die "--lines=$lines is no number"
	shopt -s nullglob
	for name in ${names+"${names[@]}"}; do
		sb_there "$name"
		files+=("$sb_dir/$name"/log/*.log)
	done
	[ "${#files[@]}" -eq 0 ] ||
		tail -v -n "$lines" "${follow[@]}" -- "${files[@]}"
}

# sb_home PID USER: the home directory of a user in the sandbox of process PID.
sb_home()
{
	local login home

	while IFS=: read -r login _ _ _ _ home _; do
		[ "$login" != "$2" ] || { echo "$home"; return; }
	done <"/proc/$1/root/etc/passwd"
	return 1
}

sb_exec()
{
	local name="" user=root pid home path manpath net=--net

	while [ "$#" -gt 0 ]; do
		case $1 in
		--) shift; break ;;
		--user=*) user=${1#*=} ;;
		--host-net) net= ;;
		-*) egs_bad_option "$1" ;;
		*) [ -z "$name" ] ||
			egs_die "write -- before the command: '$1'"
		   sb_check_name "$1"; name=$1 ;;
		esac
		shift
	done
	name=${name:-egs}
	[ "$#" -gt 0 ] || egs_die "exec needs a command, after --"
	sb_there "$name"
	pid=$(sb_pid "$sb_dir/$name" init) ||
		egs_die "sandbox '$name' is dead; take it down"
	home=$(sb_home "$pid" "$user") ||
		egs_die "no user '$user' in sandbox '$name', there is root," \
			"alice, bob, carol, dave"
	# shellcheck source=/dev/null
	. "$sb_dir/$name/settings"
	path=/opt/egs/bin:/opt/egs/sbin:$sb_path
	manpath=/opt/egs/share/man:${sb_prefix:+$sb_prefix/share/man:}
	exec nsenter --target "$pid" --mount --uts --ipc $net --pid --root \
		-- /usr/bin/env -i ${TERM+"TERM=$TERM"} LANG=C.UTF-8 \
		HOME="$home" USER="$user" LOGNAME="$user" SHELL=/bin/bash \
		PATH="$path" MANPATH="$manpath" \
		SLURM_CONF=/etc/slurm/slurm.conf \
		/usr/bin/setpriv --reuid="$user" --regid="$user" --init-groups \
		-- /usr/bin/env -C "$home" -- "$@"
}
