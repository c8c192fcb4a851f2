# SPDX-License-Identifier: GPL-2.0-only
"""
Many mutants in one copy of the algorithm (mutant schemata): a program is compiled once, and the environment selects its
mistake. A function with mutants becomes one that calls the selected variant.
"""
import re

from mutants import MutantError, function_span, mutate

VARIABLE = "MUTANT"
# Included before each source, so that no header of the algorithm has to include it.
PRELUDE = f"""
extern char *getenv(const char *);
extern int atoi(const char *);
static int chosen_mutant;
__attribute__((constructor)) static void choose_mutant(void)
{{
	const char *number = getenv("{VARIABLE}");

	chosen_mutant = number ? atoi(number) : 0;
}}
"""


def is_possible(mutant):
    """A mistake outside a function, in a macro or a table, cannot be selected at run time."""
    return bool(mutant.function)


def _arguments(head, function):
    """The names of the parameters in `static inline TYPE function(TYPE name, ...)`."""
    parameters = head[head.index(f"{function}(") + len(function) + 1:head.rindex(")")]
    if parameters.strip() == "void":
        return ""
    names = [re.search(r"(\w+)\s*$", parameter) for parameter in parameters.split(",")]
    if not all(names):
        raise MutantError(f"{function}(): its parameters are not understood: {parameters}")
    return ", ".join(name[1] for name in names)


def _variant(text, function, number):
    return re.sub(rf"\b{function}\(", f"{function}__{number}(", text, count=1)


def _with_variants(source, mutants, numbers):
    """The source, in which the number of each of these mutants of one function selects it."""
    file, function = mutants[0].file, mutants[0].function
    start, end = function_span(file, function, source)
    text = source[start:end]
    head = text[:text.index("{")].rstrip()
    call = f"({_arguments(head, function)})"
    parts = [_variant(text, function, 0)]
    cases = []
    for mutant in mutants:
        number = numbers[mutant]
        parts.append(_variant(mutate(mutant, text), function, number))
        cases.append(f"\tcase {number}:\n\t\treturn {function}__{number}{call};\n")
    parts.append(f"{head}\n{{\n\tswitch (chosen_mutant) {{\n{''.join(cases)}"
                 f"\tdefault:\n\t\treturn {function}__0{call};\n\t}}\n}}")
    return source[:start] + "\n\n".join(parts) + source[end:]


def write(mutants, folder):
    """Puts the mutants into the copy of the algorithm in folder. Returns the number that selects each; 0 is the original."""
    numbers = {mutant: number for number, mutant in enumerate(mutants, 1)}
    places = {}
    for mutant in mutants:
        places.setdefault((mutant.file, mutant.function), []).append(mutant)
    for (file, _), there in places.items():
        path = folder / file
        path.write_text(_with_variants(path.read_text(), there, numbers))
    return numbers
