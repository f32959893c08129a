// A problem as one line: for the log, /readyz and `gatehouse check`.

import { KUBERNETES, type Problem } from '../kinds/resources.js'

/** A file's position says which document it is; what comes from the API server is named. */
export function problemLine({ source, message, kind, namespace = '', name }: Problem): string {
  const who = namespace === '' ? name : `${namespace}/${name}`
  return source === KUBERNETES && name !== undefined
    ? `${source}: ${kind} ${who}: ${message}`
    : `${source}: ${message}`
}
