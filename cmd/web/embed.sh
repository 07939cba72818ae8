#!/bin/sh
# embed.sh - print files as a C header: their bytes, types and hashes
#
# usage: embed.sh FILE...
#
# Needs only what POSIX and coreutils have.
set -e

# name_bytes FILE: the name of its array
name_bytes()
{
	echo "bytes_${1##*/}" | tr .- __
}

# find_type FILE: what HTTP calls its content
find_type()
{
	case $1 in
	*.html)	echo 'text/html; charset=utf-8' ;;
	*.css)	echo 'text/css; charset=utf-8' ;;
	*.js)	echo 'text/javascript; charset=utf-8' ;;
	esac
}

# hash_file FILE: SHA-256 in base 64, as a security policy names a script
hash_file()
{
	# shellcheck disable=SC2059 # the format has the bytes
	env printf "$(sha256sum "$1" | cut -c1-64 | sed 's/../\\x&/g')" | base64
}

echo '/* page_bytes.h - made by embed.sh from the files of the page */'
for file; do
	echo "static const unsigned char $(name_bytes "$file")[] = {"
	od -An -v -tx1 "$file" | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'
	echo '};'
done
printf '#define EGS_PAGE_FILES \\\n'
for file; do
	printf '\t{ "%s", "%s", "sha256-%s", %s, sizeof(%s) }, \\\n' \
		"${file##*/}" "$(find_type "$file")" "$(hash_file "$file")" \
		"$(name_bytes "$file")" "$(name_bytes "$file")"
done
echo
