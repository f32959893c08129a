// Separates the paths of a route with mcp that ext_proc answers from the protected ones: requests below a well-known
// path never reach the backend or the token check (decision 12b).

import { memo } from '../../incremental/memo.js'
import type { McpPaths } from '../../ir/proc-entry.js'
import type { PathMatch, RouteMatch } from '../../ir/route.js'
import {
  registrationPath,
  RELAY_ENDPOINTS,
  relayPath,
  resourceMetadataPath,
  serverMetadataPath,
  WELL_KNOWN_ROOTS,
} from '../../oauth/paths.js'
import type { HttpRouteSpec } from '../../resources/kinds/http-route.js'
import type { Mcp } from '../policies/mcp.js'
import { patternCovers } from './path-patterns.js'

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
    .filter((document) => patternCovers(path.value, document))
    .map((value) => ({ ...match, path: { type: 'Exact', value } }))
}

/** Whether a match of the route lets clients reach the path, ignoring its headers and methods. */
export const isMatched = (route: HttpRouteSpec, wanted: string): boolean =>
  route.rules.some(({ matches }) => matches.some(({ path }) => coversPath(path, wanted)))

function coversPath({ type, value }: PathMatch, wanted: string): boolean {
  switch (type) {
    case 'Exact':
      return value === wanted
    case 'PathPrefix':
      return `${wanted}/`.startsWith(value.endsWith('/') ? value : `${value}/`)
    case 'RegularExpression':
      return patternCovers(value, wanted)
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
  return { mcpPath: ownMcpPath(route) }
}

/** Kept on the route, as every rule and every pattern of it asks. */
const ownMcpPath = memo((route: HttpRouteSpec): string => {
  const paths = route.rules.flatMap(({ matches }) => matches.map(({ path }) => path))
  const plain = paths.filter(({ type }) => type !== 'RegularExpression')
  const own = plain
    .map(({ value }) => value.replace(/\/$/, ''))
    .filter((path) => !isBelowWellKnown(path))
  const documentsOf = (path: string) => [resourceMetadataPath(path), registrationPath(path)]
  const wanted = own.flatMap(documentsOf)
  // Pattern by pattern: only the last few hundred patterns stay compiled.
  const byPatterns = new Set(
    paths
      .filter(({ type }) => type === 'RegularExpression')
      .flatMap((path) => wanted.filter((document) => coversPath(path, document))),
  )
  const isServed = (document: string): boolean =>
    byPatterns.has(document) || plain.some((path) => coversPath(path, document))
  return own.find((path) => documentsOf(path).every(isServed)) ?? own[0] ?? ''
})

/** Whether the path is below /.well-known/ (RFC 8615). */
const isBelowWellKnown = (path: string): boolean => `${path}/`.startsWith('/.well-known/')
