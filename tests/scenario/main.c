/* The simulator as a program of its own, for the tests. */
#include "sim/sim.h"

int main(int argc, char **argv)
{
    return sim_main(argc, argv);
}
