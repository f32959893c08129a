// JSON Schema in options and definitions of tools: which of its keywords are settings, each at its own place. What a
// schema says about values (default, enum, const, examples) is text, whatever its members are called.

import { type Form, type Holds, openForm, TEXTS, UNKNOWN } from './form.js'
import { isShape } from './shapes.js'

const SCHEMA = openForm({
  '': {
    jsonType: 'type',
    ref: '$ref $dynamicRef',
    url: '$schema $id',
    word: 'format contentEncoding',
    mime: 'contentMediaType',
    name: 'required propertyOrdering property_ordering $anchor $dynamicAnchor',
    schema: `items prefixItems additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties
      propertyNames allOf anyOf any_of oneOf not if then else`,
    schemas: 'properties patternProperties dependentSchemas $defs defs definitions',
  },
})

/** Objects of schemas by name. */
const SCHEMAS: Form = { owners: new Map(), every: 'schema' }

/** Returns the form of a member's content. form: that of the object with the member. */
export function formBelow(form: Form, name: string, holds: Holds | undefined): Form {
  if (holds === 'texts' || form === TEXTS) return TEXTS
  if (holds === undefined) return UNKNOWN
  if (holds === 'schema') return SCHEMA
  if (holds === 'schemas') return SCHEMAS
  // An object in place of a setting is unknown, unless the API has both.
  if (isShape(holds) && !form.owners.has(name)) return UNKNOWN
  return holds === 'open' || isShape(holds) ? (form.open ?? form) : form
}
