// Separates the paths of a route with mcp that ext_proc answers from the protected ones: requests below a well-known
// path never reach the backend or the token check (decision 12b).

import {
  registrationPath,
  RELAY_ENDPOINTS,
  relayPath,
  resourceMetadataPath,
  serverMetadataPath,
  WELL_KNOWN_ROOTS,
} from '../../../extauthz/oauth/paths.js'
import { memoWork } from '../../../kit/incremental/memo.js'
import { atOnce, type Work } from '../../../kit/turns.js'
import type { McpPaths } from '../../../model/proc-entry.js'
import type { PathMatch, RouteMatch } from '../../../model/route.js'
import type { HttpRouteSpec } from '../../schema/kinds/http-route.js'
import type { Mcp } from '../policies/mcp.js'
import { patternCovers, patternMatches } from './path-patterns.js'

/** Whether the path is a well-known root or below one, by segments; never true of a pattern. */
export const isWellKnown = ({ type, value }: PathMatch): boolean =>
  type !== 'RegularExpression' &&
  WELL_KNOWN_ROOTS.some((root) => value === root || value.startsWith(`${root}/`))

/** Returns the roots that a broader prefix match covers; each gets its own match in front of it. */
export function coveredRoots({ path }: RouteMatch): readonly string[] {
  if (path.type !== 'PathPrefix') return []
  return WELL_KNOWN_ROOTS.filter((root) => path.value === '/' || root.startsWith(`${path.value}/`))
}

/** Returns the matches for the documents that a pattern covers: each gets its own in front of it. */
export function coveredDocuments(
  { relay }: Mcp,
  { mcpPath }: McpPaths,
  match: RouteMatch,
): readonly RouteMatch[] {
  const { path } = match
  if (path.type !== 'RegularExpression') return []
  const documents = WELL_KNOWN_ROOTS.map((root) => `${root}${mcpPath}`)
  const endpoints = [
    registrationPath(mcpPath),
    ...(relay === undefined ? [] : [relayPath(mcpPath, 'token')]),
  ]
  return [...documents, ...endpoints]
    .filter((document) => patternCovers(path, document))
    .map((value) => ({ ...match, path: { type: 'Exact', value } }))
}

/** Whether a match of the route lets clients reach the path, ignoring its headers and methods. */
export const isMatched = (route: HttpRouteSpec, wanted: string): boolean =>
  route.rules.some(({ matches }) => matches.some(({ path }) => coversPath(path, wanted)))

function coversPath(path: PathMatch, wanted: string): boolean {
  const { type, value } = path
  switch (type) {
    case 'Exact':
      return value === wanted
    case 'PathPrefix':
      return `${wanted}/`.startsWith(value.endsWith('/') ? value : `${value}/`)
    case 'RegularExpression':
      return patternCovers(path, wanted)
  }
}

/** The paths of an MCP endpoint's documents and login endpoints. */
export interface DocumentPaths {
  readonly resourceMetadata: string
  /** Includes registration unless it is refused, and the endpoints of a relay. */
  readonly ofServer: readonly string[]
}

/** Returns the paths that ext_proc answers. */
export const documentPaths = (
  { registration, relay }: Mcp,
  { mcpPath }: McpPaths,
): DocumentPaths => ({
  resourceMetadata: resourceMetadataPath(mcpPath),
  ofServer: [
    serverMetadataPath(mcpPath),
    ...(registration.type === 'refuse' ? [] : [registrationPath(mcpPath)]),
    ...(relay === undefined ? [] : RELAY_ENDPOINTS.map((endpoint) => relayPath(mcpPath, endpoint))),
  ],
})

/** A page of a relay, with its match. */
export interface RelayPage {
  readonly endpoint: (typeof PAGES)[number]
  readonly match: RouteMatch
}

/** Returns a relay's pages below the match. No page of another origin may read them, whatever CORS says. */
export const relayPages = (mcpPath: string, { path }: RouteMatch): readonly RelayPage[] =>
  PAGES.map((endpoint) => ({ endpoint, value: relayPath(mcpPath, endpoint) }))
    .filter(({ value }) => coversPath(path, value))
    .map(({ endpoint, value }) => ({
      endpoint,
      match: { path: { type: 'Exact', value }, headers: [], queryParams: [] },
    }))

const PAGES = ['authorize', 'callback'] as const

/** Returns the last segment of a root, the name suffix of the route in front of a broader match. */
export const rootName = (root: string): string => root.slice(root.lastIndexOf('/') + 1)

/**
 * Returns the path of resourceMetadata.resource, if set. Otherwise, of the route's paths that are not well-known, the
 * first whose documents the route matches (another may be a health check's), else the first.
 */
export function mcpPathsOf(mcp: Mcp, route: HttpRouteSpec): McpPaths {
  if (mcp.resource !== undefined) return { mcpPath: mcp.resource.path, origin: mcp.resource.origin }
  return { mcpPath: atOnce(ownMcpPath(route)) }
}

/**
 * Finds out in slices what steps about the route's documents ask later: with thousands of paths and patterns, each such
 * step would take a tenth of a second.
 */
export function* checkDocuments(mcp: Mcp, route: HttpRouteSpec): Work<void> {
  if (mcp.resource === undefined) yield* ownMcpPath(route)
  const asked = askedPaths(mcp, mcpPathsOf(mcp, route))
  for (const { matches } of route.rules)
    for (const { path } of matches)
      if (path.type === 'RegularExpression')
        for (const document of asked) {
          patternCovers(path, document)
          yield
        }
}

/** Returns the paths that some step compares with the patterns of a route. */
function askedPaths(mcp: Mcp, paths: McpPaths): readonly string[] {
  const { mcpPath } = paths
  const { resourceMetadata, ofServer } = documentPaths(mcp, paths)
  const roots = [mcpPath, mcpPath.replace(/\/$/, '')].flatMap((path) =>
    WELL_KNOWN_ROOTS.map((root) => `${root}${path}`),
  )
  const resource = mcp.resource === undefined ? [] : [mcpPath || '/']
  return [
    ...new Set([
      ...roots,
      resourceMetadata,
      ...ofServer,
      registrationPath(mcpPath),
      ...resource,
      ...PAGES.map((page) => relayPath(mcpPath, page)),
    ]),
  ]
}

/** Kept on the route, as every rule and every pattern of it asks. */
const ownMcpPath = memoWork(function* (route: HttpRouteSpec): Work<string> {
  const paths = route.rules.flatMap(({ matches }) => matches.map(({ path }) => path))
  const plain = paths.filter(({ type }) => type !== 'RegularExpression')
  const own = plain
    .map(({ value }) => value.replace(/\/$/, ''))
    .filter((path) => !isBelowWellKnown(path))
  const documentsOf = (path: string) => [resourceMetadataPath(path), registrationPath(path)]
  const wanted = new Set(own.flatMap(documentsOf))
  // Pattern by pattern: only the last few hundred patterns stay compiled.
  const served = new Set<string>()
  for (const path of paths)
    if (path.type === 'RegularExpression')
      for (const document of wanted) {
        if (!served.has(document) && patternMatches(path, document)) served.add(document)
        yield
      }
  const isServed = servedBy(plain)
  for (const path of own) {
    if (documentsOf(path).every((document) => served.has(document) || isServed(document)))
      return path
    yield
  }
  return own[0] ?? ''
})

/** Returns what coversPath() says of one of these paths, which have no patterns, without a look at each. */
function servedBy(plain: readonly PathMatch[]): (wanted: string) => boolean {
  const valuesOf = (wanted: PathMatch['type']) =>
    plain.flatMap(({ type, value }) => (type === wanted ? [value] : []))
  const exact = new Set(valuesOf('Exact'))
  const prefixes = new Set(valuesOf('PathPrefix').map((value) => value.replace(/\/$/, '')))
  return (wanted) => {
    if (exact.has(wanted) || prefixes.has(wanted)) return true
    for (let end = wanted.indexOf('/'); end >= 0; end = wanted.indexOf('/', end + 1))
      if (prefixes.has(wanted.slice(0, end))) return true
    return false
  }
}

/** Whether the path is below /.well-known/ (RFC 8615). */
const isBelowWellKnown = (path: string): boolean => `${path}/`.startsWith('/.well-known/')
