/*
 * The simulator: scenario documents checked and shown, without a server.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

/**
 * The verb `sim`: `check [-o json] FILE...` and `show FILE`; a folder stands for the documents in
 * it. Answers on stdout, talk on stderr.
 *
 * @argv    argv[0] is "sim"
 * Returns  0; 1 if a document did not come out as it says; 2 for wrong usage or a file that cannot
 *          be read
 */
int sim_main(int argc, char **argv);

#endif
