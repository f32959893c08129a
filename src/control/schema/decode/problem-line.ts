// Formats a problem as one line for the log, /readyz and `gatehouse check`.

import { KUBERNETES, type Problem } from '../kinds/resources.js'

/** Returns the line. A file position identifies the document; a resource from the API server is named instead. */
export function problemLine({ source, message, kind, namespace = '', name }: Problem): string {
  const who = namespace === '' ? name : `${namespace}/${name}`
  return source === KUBERNETES && name !== undefined
    ? `${source}: ${kind} ${who}: ${message}`
    : `${source}: ${message}`
}
