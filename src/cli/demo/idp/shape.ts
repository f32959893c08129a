// URL shapes and claims of the two identity providers that Gatehouse adapts to (specification, "IdpOne" and "IdpTwo"):
// where issuer, keys and registration are, and what an access token carries.

/** A user who can log in; the token carries the groups. */
export interface User {
  readonly name: string
  readonly groups: readonly string[]
}

/** The URL shape and claims of an identity provider. */
export type Shape =
  /** Application slug; aud is the client's id; the groups claim; no registration. */
  | { readonly type: 'IdpOne'; readonly slug: string }
  /** Project and MCP server; aud is the resource indicator; roles and tenants; registration for key holders. */
  | {
      readonly type: 'IdpTwo'
      readonly project: string
      readonly server: string
      readonly managementKey: string
    }

/** Paths on the provider's origin. */
export interface ShapePaths {
  /** Path of the issuer: with a trailing slash for IdpOne, without for IdpTwo. */
  readonly issuer: string
  /** Path of the issuer without a trailing slash: the other endpoints are below it, except those given here. */
  readonly mount: string
  readonly jwks: string
  readonly registration?: string
}

/** Tenant in IdpTwo's tokens. */
export const TENANT = 'T1'

/** Returns the paths of a shape. */
export function shapePaths(shape: Shape): ShapePaths {
  if (shape.type === 'IdpOne') {
    const mount = `/application/o/${shape.slug}`
    return { issuer: `${mount}/`, mount, jwks: `${mount}/jwks/` }
  }
  const mount = `/v1/apps/agentic/${shape.project}/${shape.server}`
  return {
    issuer: mount,
    mount,
    jwks: `/${shape.project}/.well-known/jwks.json`,
    registration: `/v1/mgmt/mcp/client/${shape.project}/${shape.server}/register`,
  }
}

/** Returns the claims besides the standard ones. user: absent for a service account. */
export function shapeClaims(shape: Shape, user: User | undefined): Record<string, unknown> {
  const groups = user?.groups ?? []
  if (shape.type === 'IdpOne') return { groups }
  return { roles: groups, tenants: { [TENANT]: { roles: groups } } }
}
