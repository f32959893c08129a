// Whether a resource's URI is written in its one normal form. Rules compare texts, servers read URLs: of two spellings
// of one URI, a rule would judge one.

/** How a call names a resource: not at all, by its URI, or by a URI template (RFC 6570). */
export type ResourceForm = 'none' | 'uri' | 'template'

/** Whether the URI, or the template, that a call names is in its normal form. A call that names none is. */
export function isNormalResource({ resourceUri, resourceForm }: NamedResource): boolean {
  switch (resourceForm) {
    case 'none':
      return true
    case 'uri':
      return isNormalUri(resourceUri)
    case 'template':
      return isNormalTemplate(resourceUri)
  }
}

interface NamedResource {
  readonly resourceUri: string
  readonly resourceForm: ResourceForm
}

/**
 * Whether the text is a URI (RFC 3986) that the URL parser of WHATWG returns as it is, with no escape that could be
 * written in another way (sections 6.2.2.1 and 6.2.2.2) and no dot segment.
 */
const isNormalUri = (uri: string): boolean =>
  CHARACTERS.test(uri) &&
  !ESCAPED_UNRESERVED.test(uri) &&
  !DOT_SEGMENT.test(uri) &&
  URL.parse(uri)?.href === uri

/** Like isNormalUri(), with the expressions of the template taken as they are. */
const isNormalTemplate = (template: string): boolean =>
  isNormalUri(template.replace(EXPRESSION, (_all, operator: string) => `${operator}x`))

/** RFC 3986 section 2. Escapes are in capitals. */
const CHARACTERS = /^(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[\dA-F]{2})*$/
/** A letter, a digit, or one of "-._~". */
const ESCAPED_UNRESERVED = /%(?:2[DE]|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE])/
/** WHATWG leaves those of a path without a slash in front: "x:a/../b". */
const DOT_SEGMENT = /^[^:]*:(?:[^?#]*\/)?\.{1,2}(?:[/?#]|$)/
/** An expression, with an operator that is a part of what it becomes (RFC 6570 section 3.2). */
const EXPRESSION = /\{([./;?&#]?)[^{}]*\}/g
