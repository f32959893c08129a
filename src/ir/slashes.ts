// A path without the slashes at its end, in linear time: a pattern such as /\/+$/ is tried again at each of many slashes.

/** The path without the slashes at its end. */
export function withoutSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end)
}
