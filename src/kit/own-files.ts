// Where the files that Gatehouse is installed with are.

/** The folder of package.json: two above this module, both in src and in dist. */
const ROOT = new URL('../..', import.meta.url)

/** @param path relative to the package, e.g. config/demo/. */
export const ownFile = (path: string): URL => new URL(path, ROOT)
