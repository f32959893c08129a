// Removes trailing slashes in linear time; a pattern such as /\/+$/ is retried at each of many slashes.

/** Returns the path without trailing slashes. */
export function withoutSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end)
}
