# policyd/wire - all that crosses a process boundary

noinst_LIBRARIES += policyd/wire/libegs-wire.a
policyd_wire_libegs_wire_a_SOURCES =
