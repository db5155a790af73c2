// What answers each request; requests.cpp has the table of them.
#pragma once

#include "page/fields.h"
#include "page/page.h"

namespace reckon::page {

// tokenizers.cpp
Reply tokenizer(Page& page, const Fields& fields);
Reply train_tokenizer(Page& page, const Fields& fields);
Reply save_tokenizer(Page& page, const Fields& fields);
Reply tokens(Page& page, const Fields& fields);
Reply encode(Page& page, const Fields& fields);
Reply decode(Page& page, const Fields& fields);

// training.cpp
Reply train(Page& page, const Fields& fields);
Reply resume(Page& page, const Fields& fields);
Reply advance(Page& page, const Fields& fields);
Reply rate(Page& page, const Fields& fields);
Reply evaluate(Page& page, const Fields& fields);
Reply sample(Page& page, const Fields& fields);
Reply save(Page& page, const Fields& fields);
Reply limit(Page& page, const Fields& fields);

// inspection.cpp
Reply attention(Page& page, const Fields& fields);
Reply neighbours(Page& page, const Fields& fields);
Reply write_model(Page& page, const Fields& fields);

// generation.cpp
Reply model(Page& page, const Fields& fields);
Reply prefill(Page& page, const Fields& fields);
Reply append(Page& page, const Fields& fields);
Reply rewind(Page& page, const Fields& fields);
Reply distribution(Page& page, const Fields& fields);
Reply beams(Page& page, const Fields& fields);

}  // namespace reckon::page
