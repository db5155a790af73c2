// How many threads to use where nobody says.
#pragma once

namespace reckon {

// `asked`, or where that is 0: as many as there are processors that this process may run on; where it may run on all
// of the machine's, and so many processes share them, its share. A build without threads has 1.
int thread_count(int asked, int processes = 1);

}  // namespace reckon
