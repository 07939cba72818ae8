#!/bin/bash
# sandbox-init.sh - the first process of a sandbox: build its file tree
#
# Usage: sandbox-init.sh DIR, as process 1 of new mount, pid, net, uts and ipc
# namespaces (made by sandbox-up.sh).  Writes its record and the files of the
# sandbox to DIR, mounts the tree of the sandbox on DIR/root and executes
# sandbox-boot.sh there.

# shellcheck disable=SC2154 # sb_* and o_* come from the settings
set -eu -o pipefail
here=$1
lib=$(dirname "$0")
cd "$here"
# shellcheck source=contrib/lib/common.sh
. "$lib/common.sh"
# shellcheck source=contrib/lib/sandbox-state.sh
. "$lib/sandbox-state.sh"
# shellcheck source=contrib/lib/sandbox-etc.sh
. "$lib/sandbox-etc.sh"
# shellcheck source=contrib/lib/sandbox-conf.sh
. "$lib/sandbox-conf.sh"
# shellcheck source=/dev/null
. ./settings
# Use relative names from here on: the directory may be renamed at any time, and
# no file may be created under its old name then.
sb_here=.
root=./root
sb_etc=$root/etc

# leave_record: /proc is still the one of the outside and has our outside id.  A
# "down" renames the directory and then reads the record; if the record came
# later, the old name is gone by now.
leave_record()
{
	local pid

	read -r pid _ </proc/self/stat
	sb_record "$pid" >init.new
	mv -T init.new init
	[ "$here" -ef . ]
}

# make_private: no mount made here may be visible outside.  In a bare chroot / is
# not a mount point and cannot be made private: then DIR/root becomes a private
# mount, and only that is visible outside (sb_remove unmounts it).
make_private()
{
	mount --make-rprivate / 2>/dev/null && return
	mount --bind "$root" "$root"
	mount --make-private "$root"
}

# show_base: the tree of the machine or of the chroot, read-only.
show_base()
{
	local how=--bind

	[ "$sb_base" != / ] || how=--rbind
	mount "$how" "$sb_base" "$root"
	mount --make-rprivate "$root"
	mount -o remount,bind,ro "$root"
}

# show FROM TO [ro]: mount FROM of the outside on TO of the sandbox.  The mount is
# private: otherwise later mounts in TO would be visible in FROM.
show()
{
	mkdir -p "$root$2"
	mount --bind --make-private "$1" "$root$2"
	[ -z "${3-}" ] || mount -o remount,bind,ro "$root$2"
}

# scratch DIR MODE: an empty DIR in memory
scratch()
{
	mount -t tmpfs -o "mode=$2" "sandbox${1//\//-}" "$root$1"
}

# show_etc: in memory, like the database: on a busy disk it would take longer
# than all the rest.
show_etc()
{
	scratch /etc 755
	sb_write_etc
	show "$sb_here/etc/slurm" /etc/slurm
}

show_private()
{
	local d

	for d in home run var; do
		show "$sb_here/$d" "/$d"
	done
	show "$sb_here/home/root" /root
	show "$sb_here/log" /var/log
	scratch /var/lib/mysql 700
	sb_own mysql "$root/var/lib/mysql"
	scratch /opt 755
	scratch /srv 755
	scratch /tmp 1777
	show "$egs_top" /srv/egs ro
	[ -z "$sb_egs" ] || show "$sb_egs" /opt/egs ro
	[ -z "$sb_prefix" ] || show "$sb_prefix" "$sb_prefix" ro
}

show_kernel()
{
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	scratch /dev 755
	mkdir -p "$root"/dev/{pts,shm}
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 \
		devpts "$root/dev/pts"
	scratch /dev/shm 1777
}

# device NAME MAJOR MINOR: a character device that all may open
device()
{
	mknod -m 666 "$root/dev/$1" c "$2" "$3"
}

make_devices()
{
	local i

	device null 1 3
	device zero 1 5
	device full 1 7
	device random 1 8
	device urandom 1 9
	device tty 5 0
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	ln -s fd/0 "$root/dev/stdin"
	ln -s fd/1 "$root/dev/stdout"
	ln -s fd/2 "$root/dev/stderr"
	for ((i = 0; i < o_gpus; i++)); do
		device "nvidia$i" 195 "$i"
	done
}

# make_network: loopback with a second address: with 127.0.0.1 alone
# getaddrinfo(AI_ADDRCONFIG) finds no IPv4.
make_network()
{
	ip link set lo up
	ip address add 10.255.0.1/32 dev lo
	hostname "$o_name"
}

main()
{
	umask 022
	leave_record
	sb_make_dirs
	sb_write_conf
	cp settings run/sandbox/settings
	make_private
	show_base
	show_etc
	show_private
	show_kernel
	make_devices
	make_network
	exec env -i PATH="$sb_path" LANG=C.UTF-8 chroot "$root" \
		/bin/bash /srv/egs/contrib/lib/sandbox-boot.sh
}

main
