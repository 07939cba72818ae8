#!/bin/bash
# 0030-duplicates.t - no helper exists twice: no shell function, no file
. "$(dirname "$0")/lib/sh/tree.sh"

# shell_files TOP: those files of contrib/ and t/ that a shell reads.
shell_files()
{
	(
		cd "$1" || exit
		find contrib t -type f | sort | while read -r f; do
			case $f in
			*.sh) echo "$f" ;;
			*) head -n 1 "$f" | grep -qaE '^#!.*/(ba)?sh\b' && echo "$f" ;;
			esac
		done
	)
}

# functions TOP: "FILE NAME BODY" for each function a shell file defines, the
# body on one line, without comments and white space.
functions()
{
	(
		cd "$1" || exit
		# shellcheck disable=SC2016 # awk's
		shell_files . | xargs -r -d '\n' awk '
			/^[A-Za-z_][A-Za-z0-9_-]* ?\(\)/ {
				name = $1
				sub(/\(.*/, "", name)
				body = ""
				next
			}
			name && /^[})]/ { print FILENAME, name, body; name = "" }
			name {
				sub(/^[ \t]*#.*/, "")
				gsub(/[ \t]/, "")
				body = body $0 ";"
			}'
	)
}

# same_name TOP: functions with the name of one in a lib folder, which is
# there to be shared.  Every script may have a main() of its own.
same_name()
{
	functions "$1" | awk '
		$2 == "main" { next }
		$1 ~ /\/lib\/.*\.sh$/ { shared[$2] = 1 }
		{ files[$2] = files[$2] " " $1; n[$2]++ }
		END {
			for (f in shared)
				if (n[f] > 1)
					print f "() is in" files[f]
		}'
}

# same_body TOP: functions that do the same, whatever their names are; very
# short ones may.
same_body()
{
	functions "$1" | awk '
		length($3) > 40 {
			where[$3] = where[$3] " " $1 ":" $2 "()"
			n[$3]++
		}
		END { for (b in n) if (n[b] > 1) print "the same:" where[b] }'
}

# copies TOP: files with the same content, other than empty ones.
copies()
{
	(
		cd "$1" || exit
		tree_files . | while read -r f; do
			[ ! -s "$f" ] || sha256sum -- "$f"
		done | sort | uniq -w 64 --all-repeated=separate
	)
}

# plant FILE NAME BODY: add a function to a file of a tree in $tmp/bad.
plant()
{
	mkdir -p "$tmp/bad/$(dirname "$1")"
	[ -f "$tmp/bad/$1" ] || echo "#!/bin/sh" >"$tmp/bad/$1"
	printf '%s()\n{\n\t%s\n}\n' "$2" "$3" >>"$tmp/bad/$1"
}

mkdir -p "$tmp/bad/contrib" "$tmp/bad/t"
: >"$tmp/bad/.gitignore"
plant contrib/a main 'install what is needed and then build all of it'
plant t/b.t main 'look whether what was installed and built does work'
plant t/lib/c.sh help 'look whether what was installed and built is there'
for check in same_name same_body copies; do
	holds "$check finds nothing in a good tree" $check "$tmp/bad"
done
plant contrib/a help 'say how this is used'
catches 'a script with a function of a library' same_name "$tmp/bad"
plant contrib/a assist 'look   whether what was installed and built is there'
catches 'a copied function' same_body "$tmp/bad"
cp "$tmp/bad/contrib/a" "$tmp/bad/contrib/d"
catches 'a copied file' copies "$tmp/bad"

holds 'no function of a library is defined elsewhere' same_name "$srcdir"
holds 'no function exists twice' same_body "$srcdir"
holds 'no file exists twice' copies "$srcdir"
functions "$srcdir" >"$tmp/functions"
does 'the tree has functions to check' \
	grep 'contrib/lib/common.sh egs_say ' "$tmp/functions"

done_testing
