/* sql.c - run a statement on an SQLite file
 *
 *	cc -o sql sql.c -lsqlite3
 *	sql FILE STATEMENT
 *
 * Prints each row as a line, with '|' between columns.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static int print(void *arg, int n, char **value, char **name)
{
	(void)arg;
	(void)name;
	for (int i = 0; i < n; i++)
		printf("%s%s", i ? "|" : "", value[i] ? value[i] : "");
	printf("\n");
	return 0;
}

int main(int argc, char **argv)
{
	sqlite3 *db;

	if (argc == 3 && sqlite3_open(argv[1], &db) == SQLITE_OK &&
	    sqlite3_exec(db, argv[2], print, NULL, NULL) == SQLITE_OK &&
	    sqlite3_close(db) == SQLITE_OK)
		return EXIT_SUCCESS;
	fprintf(stderr, "sql: %s\n",
		argc == 3 ? sqlite3_errmsg(db) : "FILE STATEMENT");
	return EXIT_FAILURE;
}
