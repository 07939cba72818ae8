# shellcheck shell=bash disable=SC2154
# sandbox-etc.sh - the directories of a sandbox and its /etc: users, hosts, keys
#
# For sandbox-init.sh, which stops at the first failure.  $sb_here is the
# directory of the sandbox, $sb_etc its future /etc.  All ids are fixed, so that
# owners of files mean the same inside and outside.

# login:uid:home:groups, each with a group of the same name and number
sb_users="
munge:64031:/nonexistent:
slurm:64030:/nonexistent:
mysql:64032:/nonexistent:
alice:2001:/home/alice:fraud
bob:2002:/home/bob:vision
carol:2003:/home/carol:vision
dave:2004:/home/dave:teaching
"
sb_groups="fraud:3001 vision:3002 teaching:3003"

# sb_own USER DIR...: create directories of a user of the sandbox, who may not
# exist outside.
sb_own()
{
	local id

	id=$(sed -n "s/^$1:\([0-9]*\):.*/\1/p" <<<"$sb_users")
	mkdir -p "${@:2}" && chown "$id:$id" "${@:2}"
}

# sb_make_dirs: the future /etc/slurm, /var, /run, /home and /root.
sb_make_dirs()
{
	local login home i

	mkdir -p "$sb_here"/{etc/slurm,home,log,run/lock,run/sandbox} \
		"$sb_here"/var/{cache,lib,log}
	for ((i = 1; i <= o_nodes; i++)); do
		mkdir -p "$sb_here/var/spool/slurmd/n$i"
	done
	install -d -m 1777 "$sb_here/var/tmp"
	install -d -m 700 "$sb_here/home/root"
	ln -s /run "$sb_here/var/run"
	ln -s /run/lock "$sb_here/var/lock"
	sb_own munge "$sb_here"/{run/munge,var/lib/munge}
	sb_own slurm "$sb_here"/{log,run/{slurm,egs},var/lib/{slurm,egs}}
	sb_own mysql "$sb_here"/{run/mysqld,var/lib/mysql}
	chmod 700 "$sb_here"/var/lib/{munge,slurm,egs,mysql}
	while IFS=: read -r login _ home _; do
		[[ $home != /home/* ]] || sb_own "$login" "$sb_here$home"
	done <<<"$sb_users"
}

# sb_copy_etc: copy the /etc of the base without secrets and users.
sb_copy_etc()
{
	local base=${sb_base%/} etc=$sb_etc

	tar -C "$base/etc" --exclude=./*shadow* --exclude=./ssh \
		--exclude=./ssl/private --exclude=./sudoers* \
		--exclude=./munge --exclude=./slurm --exclude=./slurm-llnl \
		-cf - . | tar -C "$etc" -xpf -
	mkdir -p "$etc/slurm"
	awk -F: -v OFS=: '$1 == "root" { $6 = "/root"; $7 = "/bin/bash" }
		$3 < 1000 || $1 == "nobody"' \
		"$base/etc/passwd" >"$etc/passwd.new"
	awk -F: '$3 < 1000 || $1 == "nogroup"' \
		"$base/etc/group" >"$etc/group.new"
}

# sb_add_users: add the users and groups of the sandbox.
sb_add_users()
{
	local etc=$sb_etc login uid home groups g

	while IFS=: read -r login uid home groups; do
		[ -n "$login" ] || continue
		sed -i "/^$login:/d" "$etc/passwd.new" "$etc/group.new"
		echo "$login:x:$uid:$uid::$home:/bin/bash" >>"$etc/passwd.new"
		echo "$login:x:$uid:" >>"$etc/group.new"
	done <<<"$sb_users"
	for g in $sb_groups; do
		groups=$(sed -n "s/^\([a-z]*\):.*:${g%:*}$/\1/p" <<<"$sb_users")
		sed -i "/^${g%:*}:/d" "$etc/group.new"
		echo "${g%:*}:x:${g#*:}:${groups//$'\n'/,}" >>"$etc/group.new"
	done
	mv "$etc/passwd.new" "$etc/passwd"
	mv "$etc/group.new" "$etc/group"
}

# sb_write_names: host names; the sandbox uses no outside name server.
sb_write_names()
{
	local etc=$sb_etc i

	{
		echo "127.0.0.1 localhost $o_name"
		for ((i = 1; i <= o_nodes; i++)); do
			echo "127.0.0.1 n$i"
		done
	} >"$etc/hosts"
	echo "$o_name" >"$etc/hostname"
	rm -f "$etc/resolv.conf" "$etc/mtab"
	: >"$etc/resolv.conf"
	ln -s /proc/self/mounts "$etc/mtab"
	printf '%s: files\n' passwd group shadow hosts services protocols \
		networks >"$etc/nsswitch.conf"
}

# sb_write_key: a private munge key.
sb_write_key()
{
	sb_own munge "$sb_etc/munge"
	(umask 077; head -c 1024 /dev/urandom >"$sb_etc/munge/munge.key")
	chown --reference="$sb_etc/munge" "$sb_etc/munge/munge.key"
	chmod 700 "$sb_etc/munge"
}

sb_write_etc()
{
	sb_copy_etc
	sb_add_users
	sb_write_names
	sb_write_key
}
