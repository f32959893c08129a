// Where the files that Gatehouse is installed with are.

/** The folder of package.json: one above both src and dist, into whose top level the build puts this module. */
const ROOT = new URL('..', import.meta.url)

/** @param path relative to the package, e.g. config/demo/. */
export const ownFile = (path: string): URL => new URL(path, ROOT)
