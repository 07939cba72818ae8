#!/bin/bash
# 0200-plugin-symbols.t - plugins fit the Slurm they were built for
#
# Slurm binds a plugin's functions when they are first called, so a symbol that
# slurmctld lacks is found by a user's job.  Here it is found after the link,
# for every release that is built.
. "$(dirname "$0")/lib/sh/tree.sh"
. "$srcdir/contrib/lib/common.sh"

versions=${EGS_TEST_VERSIONS:-$(egs_versions)}

# api_of PLUGIN V: all that PLUGIN.so shows to Slurm V.
api_of()
{
	echo plugin_name plugin_type plugin_version
	case $1 in
	spank_egs) echo spank_plugin_version slurm_spank_init \
		slurm_spank_init_post_opt slurm_spank_user_init \
		slurm_spank_task_init slurm_spank_task_init_privileged ;;
	job_submit_egs) echo init fini job_submit job_modify ;;
	select_*) echo select_p_job_{test,begin,fini,suspend,resume} \
		select_p_job_{resized,expand} ;;
	preempt_egs) echo init preempt_p_preemptable \
		preempt_p_job_preempt_check
		# Since 25.05 it has one for each question.
		case $2 in
		22.* | 23.* | 24.*) echo preempt_p_get_data ;;
		*) echo preempt_p_get_{mode,prio,grace_time} ;;
		esac ;;
	site_factor_egs) echo init site_factor_p_set site_factor_p_update
		# Until 23.11 it had to have one more.
		case $2 in 22.* | 23.*) echo site_factor_p_reconfig ;; esac ;;
	esac
}

# plugins_of V: the plugins that were built for V.
plugins_of()
{
	find "$(build_of "$1")/plugins" -name '*.so' | sort
}

# defined FILE..., undefined FILE...: dynamic symbols by name.  Weak ones that
# nobody defines are the compiler's, and may be missing.
defined()
{
	nm -D --defined-only "$@" | awk 'NF == 3 { sub("@.*", "", $3); print $3 }'
}

undefined()
{
	nm -D --undefined-only "$@" | awk '$1 == "U" { sub("@.*", "", $2); print $2 }'
}

# offered V: what a plugin of V may ask for.  Debian's slurmctld is a link
# through /etc, which leads out of a chroot.
offered()
{
	local root lib

	root=$(egs_root "$1")
	lib=$(echo "$root"/usr/lib/*/slurm-wlm)
	defined "$root/usr/sbin/slurmctld-wlm" "$lib/libslurmfull.so" \
		"$lib/select_cons_tres.so" "$root"/lib/*/libc.so.6
}

# unresolved OFFER PLUGIN: symbols that PLUGIN asks for and the file OFFER lacks.
unresolved()
{
	[ -s "$1" ] || return
	undefined "$2" | sort -u >"$tmp/undefined" || return
	sort -u "$1" | comm -13 - "$tmp/undefined"
}

# surplus PLUGIN V: what it shows and should not, or should and does not.
surplus()
{
	local name

	name=$(basename "$1" .so)
	api_of "$name" "$2" | tr ' ' '\n' | sort >"$tmp/api"
	defined "$1" | sort | comm -3 - "$tmp/api"
}

# needed PLUGIN: libraries that it would load, but for libc and, below the
# select plugin, the one it is stacked on.
needed()
{
	readelf -d "$1" >"$tmp/dynamic" || return
	sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$tmp/dynamic" |
		case $1 in
		*/select_*) grep -vx -e 'libc.so.6' -e 'select_cons_tres.so' ;;
		*) grep -vx 'libc.so.6' ;;
		esac
	:
}

# version_in PLUGIN: its plugin_version, as 22.05.8.
version_in()
{
	local at

	at=0x$(nm -D "$1" | awk '$3 == "plugin_version" { print $1 }')
	# shellcheck disable=SC2046 # section lines are words to be split
	set -- "$1" $(readelf -SW "$1" | sed -n 's/.* \.rodata  *PROGBITS//p')
	od -An -tu1 -j $((at - 0x$2 + 0x$3)) -N4 "$1" |
		awk '{ printf "%d.%02d.%d\n", $3, $2, $1 }'
}

# other_version PLUGIN VERSION: says so if PLUGIN is for another one.
other_version()
{
	local has

	has=$(version_in "$1") || return
	[ "$has" = "$2" ] || echo "it is for $has, slurmctld is $2"
}

check_plugin()
{
	local name

	name="$2 $(basename "$1")"
	holds "$name: Slurm has every symbol it needs" unresolved "$tmp/offer" "$1"
	holds "$name: exports its API and nothing else" surplus "$1" "$2"
	holds "$name: needs no library" needed "$1"
	holds "$name: is for exactly this Slurm" other_version "$1" "$3"
}

check_version()
{
	local plugin is

	offered "$1" >"$tmp/offer"
	is=$(egs_in "$1" /usr/sbin/slurmctld -V)
	is=${is##* }
	plugins_of "$1" >"$tmp/plugins"
	does "$1: plugins were built" grep spank_egs.so "$tmp/plugins"
	while read -r plugin <&3; do
		check_plugin "$plugin" "$1" "${is%%-*}"
	done 3<"$tmp/plugins"
}

for v in $versions; do
	[ ! -d "$(build_of "$v")/plugins" ] || check_version "$v"
done

# The checks themselves, with a plugin that does everything wrong.
cat >"$tmp/bad.c" <<'END'
const char plugin_name[] = "bad", plugin_type[] = "job_submit/bad";
const unsigned int plugin_version = 0x160507;
int helper(void);
int no_such_function_of_slurm(void);
int helper(void) { return no_such_function_of_slurm(); }
END
"${CC:-cc}" -shared -fPIC -o "$tmp/job_submit_egs.so" "$tmp/bad.c" \
	-Wl,--no-as-needed -lm
offered "$(egs_native)" >"$tmp/offer"
catches 'a symbol that Slurm lacks' unresolved "$tmp/offer" \
	"$tmp/job_submit_egs.so"
catches 'an exported symbol outside of the API' surplus "$tmp/job_submit_egs.so"
catches 'a needed library' needed "$tmp/job_submit_egs.so"
catches 'a plugin for another version' other_version "$tmp/job_submit_egs.so" 22.05.8

done_testing
