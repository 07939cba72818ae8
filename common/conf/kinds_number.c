/* kinds_number.c - kinds of values that are numbers */
#include <stdio.h>

#include "common/conf/kinds_internal.h"
#include "common/conf/values.h"

typedef void format_number_fn(uint32_t value, char *buf, size_t size);

static void format_plain(uint32_t value, char *buf, size_t size)
{
	snprintf(buf, size, "%u", value);
}

static void format_milli(uint32_t value, char *buf, size_t size)
{
	egs_conf_write_fixed(value, EGS_MILLI_ONE, buf, size);
}

/* Store a number that has been read, if it is within the key's bounds. */
static int store_number(const struct egs_conf_target *to, uint32_t value,
			format_number_fn *write, struct egs_err *err)
{
	const struct egs_conf_key *key = to->key;
	char limit[EGS_CONF_VALUE_MAX];

	if (value < key->min) {
		write(key->min, limit, sizeof(limit));
		return egs_errf(err, "is too small, smallest is %s", limit);
	}
	if (value > key->max) {
		write(key->max, limit, sizeof(limit));
		return egs_errf(err, "is too big, biggest is %s", limit);
	}
	*(uint32_t *)to->field = value;
	return 0;
}

static void write_formatted(const struct egs_conf_source *from,
			    format_number_fn *write, FILE *out)
{
	uint32_t value = *(const uint32_t *)from->field;
	char buf[EGS_CONF_VALUE_MAX];

	write(value, buf, sizeof(buf));
	fprintf(out, "%s",
		from->key->def_value && value == from->key->def_value
			? from->key->def
			: buf);
}

/* A word such as "none" in the place of a number. */
static bool read_absent(const struct egs_conf_target *to, const char *text)
{
	if (!to->key->def_value || !egs_conf_is_default(to->key, text))
		return false;
	*(uint32_t *)to->field = to->key->def_value;
	return true;
}

static int read_seconds(const struct egs_conf_target *to, const char *text,
			struct egs_err *err)
{
	uint32_t value;

	if (read_absent(to, text))
		return 0;
	if (egs_conf_read_seconds(text, &value, err) < 0)
		return -1;
	return store_number(to, value, egs_conf_write_seconds, err);
}

static void write_seconds(const struct egs_conf_source *from, FILE *out)
{
	write_formatted(from, egs_conf_write_seconds, out);
}

static int read_number(const struct egs_conf_target *to, const char *text,
		       struct egs_err *err)
{
	uint32_t value;

	if (read_absent(to, text))
		return 0;
	if (egs_conf_read_number(text, &value, err) < 0)
		return -1;
	return store_number(to, value, format_plain, err);
}

static void write_number(const struct egs_conf_source *from, FILE *out)
{
	write_formatted(from, format_plain, out);
}

static int read_percent(const struct egs_conf_target *to, const char *text,
			struct egs_err *err)
{
	return egs_conf_read_percent(text, to->field, err);
}

static void write_percent(const struct egs_conf_source *from, FILE *out)
{
	write_formatted(from, egs_conf_write_percent, out);
}

static int read_milli(const struct egs_conf_target *to, const char *text,
		      struct egs_err *err)
{
	uint64_t value;

	if (egs_conf_read_fixed(text, EGS_MILLI_ONE, &value, err) < 0)
		return -1;
	return store_number(to, (uint32_t)value, format_milli, err);
}

static void write_milli(const struct egs_conf_source *from, FILE *out)
{
	write_formatted(from, format_milli, out);
}

static int read_price(const struct egs_conf_target *to, const char *text,
		      struct egs_err *err)
{
	return egs_conf_read_fixed(text, EGS_PRICE_ONE, to->field, err);
}

static void write_price(const struct egs_conf_source *from, FILE *out)
{
	char buf[EGS_CONF_VALUE_MAX];

	egs_conf_write_fixed(*(const uint64_t *)from->field, EGS_PRICE_ONE, buf,
			     sizeof(buf));
	fprintf(out, "%s", buf);
}

static int read_rate(const struct egs_conf_target *to, const char *text,
		     struct egs_err *err)
{
	return egs_conf_read_rate(text, to->field, err);
}

static void write_rate(const struct egs_conf_source *from, FILE *out)
{
	char buf[EGS_CONF_VALUE_MAX];

	egs_conf_write_rate(from->field, buf, sizeof(buf));
	fprintf(out, "%s", buf);
}

static int read_range(const struct egs_conf_target *to, const char *text,
		      struct egs_err *err)
{
	return egs_conf_read_range(text, to->field, err);
}

static void write_range(const struct egs_conf_source *from, FILE *out)
{
	char buf[EGS_CONF_VALUE_MAX];

	egs_conf_write_range(from->field, buf, sizeof(buf));
	fprintf(out, "%s", buf);
}

const struct egs_conf_ops egs_conf_number_ops[EGS_CONF_KINDS] = {
	[EGS_CONF_SECONDS] = { read_seconds, write_seconds },
	[EGS_CONF_NUMBER] = { read_number, write_number },
	[EGS_CONF_PERCENT] = { read_percent, write_percent },
	[EGS_CONF_MILLI] = { read_milli, write_milli },
	[EGS_CONF_PRICE] = { read_price, write_price },
	[EGS_CONF_RATE] = { read_rate, write_rate },
	[EGS_CONF_RANGE] = { read_range, write_range },
};
