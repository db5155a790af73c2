// Which vocabularies lie beside the page, by name, and the version of each (vocabularies.ts).
declare const __VOCABULARIES__: Record<string, string>;
export const versions = __VOCABULARIES__;
