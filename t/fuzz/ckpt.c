/* ckpt.c - values of --ckpt and --signal */
#include "common/hint/hint.h"
#include "t/fuzz/fuzz.h"

static void check_signal(const char *text)
{
	struct egs_save_signal signal, again;
	char shown[EGS_SAVE_SIGNAL_MAX + 1];
	struct egs_err err;

	if (egs_save_signal_parse(text, &signal, &err) < 0)
		return;
	egs_save_signal_format(&signal, shown, sizeof(shown));
	fuzz_check(egs_save_signal_parse(shown, &again, &err) == 0);
	fuzz_check(again.number == signal.number &&
		   again.before_s == signal.before_s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct egs_hint_site any = { .any_phase = true };
	struct egs_hint hint = { .phase = "" };
	char *text = fuzz_text(data, size);
	struct egs_save_signal signal;
	const char *program;
	struct egs_err err;

	if (egs_hint_set(&hint, "ckpt", text, &any, &err) == 0) {
		egs_hint_get_signal(&hint, &signal);
		egs_hint_can_save(&hint, &signal);
		program = egs_hint_get_program(&hint);
		fuzz_check(strlen(program) <= EGS_HINT_VALUE_MAX);
	}
	check_signal(text);
	free(text);
	return 0;
}
