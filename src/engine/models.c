/* Models: see models.h. */
#include "engine/models.h"

#include <string.h>

#include "base/str.h"

/* In the order in which a task that takes any GPU prefers them. */
static const char *const catalogue[] = {
    "A10",        "A10G",       "A100", "A100-40", "A100-80",    "A16",     "A30",     "A40",
    "A4000",      "A5000",      "L4",   "L40",     "T4",         "GAUDI2",  "GH200",   "H100",
    "H200",       "B200",       "B300", "A6000",   "RTX4000Ada", "RTX4090", "RTX5090", "RTX6000",
    "RTX6000Ada", "RTXPro6000", "L40S", "V100",    "V100-32",
};

enum { LONGEST = 48 };

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_part(char c)
{
    return is_digit(c) || (upper(c) >= 'A' && upper(c) <= 'Z');
}

/* Letters and digits alone, in capitals. */
static void squeeze(const char *text, char out[LONGEST])
{
    size_t n = 0;

    for (; *text && n + 1 < LONGEST; text++)
        if (is_part(*text))
            out[n++] = upper(*text);
    out[n] = '\0';
}

static int find(const char *squeezed)
{
    for (size_t i = 0; i < COUNT_OF(catalogue); i++) {
        char known[LONGEST];
        squeeze(catalogue[i], known);
        if (strcmp(known, squeezed) == 0)
            return (int)i;
    }
    return -1;
}

/* Words that say who made it or how it is built in, not which model it is. */
static bool is_noise(const char *word)
{
    static const char *const words[] = { "NVIDIA",     "TESLA",      "GEFORCE", "QUADRO",
                                         "INTEL",      "HABANA",     "HL",      "PCIE",
                                         "PCI",        "NVL",        "SXM",     "SERVER",
                                         "BLACKWELL",  "GENERATION", "EDITION", "GPU",
                                         "WORKSTATION" };
    static const char *const begins[] = { "SXM", "HBM", "GDDR" };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(begins); i++)
        if (text_begins(word, begins[i]) && is_digit(word[strlen(begins[i])]))
            return true;
    return false;
}

/* 80G, 80GB, 80GIB: how much memory it has. */
static bool is_memory(const char *word, char digits[LONGEST])
{
    size_t n = strspn(word, "0123456789");

    if (!n ||
        (strcmp(word + n, "G") != 0 && strcmp(word + n, "GB") != 0 && strcmp(word + n, "GIB") != 0))
        return false;
    memcpy(digits, word, n);
    digits[n] = '\0';
    return true;
}

/* The next word in capitals; false at the end. */
static bool next_word(const char **text, char word[LONGEST])
{
    size_t n = 0;

    while (**text && !is_part(**text))
        ++*text;
    for (; is_part(**text); ++*text)
        if (n + 1 < LONGEST)
            word[n++] = upper(**text);
    word[n] = '\0';
    return n > 0;
}

static void append(char out[LONGEST], const char *word)
{
    size_t n = strlen(out), more = strlen(word);

    if (n + more < LONGEST)
        memcpy(out + n, word, more + 1);
}

/* The place of the first of some ways to write it that the catalogue has. */
static int find_spelling(const char *name, const char *memory)
{
    char with[LONGEST] = "", rtx[LONGEST] = "RTX";
    int place;

    append(with, name);
    append(with, memory);
    append(rtx, name);
    place = memory[0] ? find(with) : -1;
    if (place < 0)
        place = find(name);
    if (place < 0)
        place = find(rtx); /* "4090" */
    if (place < 0 && text_begins(name, "RTX"))
        place = find(name + 3); /* "RTX A6000" */
    return place;
}

struct gpu_model gpu_model_of(const char *text)
{
    char name[LONGEST] = "", memory[LONGEST] = "", word[LONGEST];
    struct gpu_model model = { .place = -1 };

    while (next_word(&text, word))
        if (!is_noise(word) && !is_memory(word, memory))
            append(name, word);
    model.place = find_spelling(name, memory);
    append(model.name, model.place < 0 ? name : catalogue[model.place]);
    if (model.place < 0)
        append(model.name, memory);
    return model;
}

bool gpu_model_serves(const struct gpu_model *wanted, const struct gpu_model *has)
{
    size_t n = strlen(wanted->name);

    if (strcmp(wanted->name, has->name) == 0)
        return true;
    return wanted->place >= 0 && has->place >= 0 && strncmp(wanted->name, has->name, n) == 0 &&
           has->name[n] == '-';
}

bool gpu_model_same(const char *a, const char *b)
{
    struct gpu_model x = gpu_model_of(a), y = gpu_model_of(b);

    return strcmp(x.name, y.name) == 0;
}
