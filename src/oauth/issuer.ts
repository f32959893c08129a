// An issuer (RFC 8414 section 2: a URL without query or fragment) → the URLs that are derived from it.

/** undefined: not an absolute http or https URL. */
export const parseHttpUrl = (text: string): URL | undefined =>
  /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined

export const originOf = (issuer: string): string | undefined => parseHttpUrl(issuer)?.origin

/** Without a slash at its end; "" for the root. */
export const issuerPath = (issuer: string): string =>
  (parseHttpUrl(issuer)?.pathname ?? '').replace(/\/$/, '')

/** OpenID Connect Discovery 1.0 section 4: appended to the issuer. */
export const openIdUrl = (issuer: string): string =>
  `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`

/** RFC 8414 section 3: inserted before the issuer's path. */
export const serverMetadataUrl = (issuer: string): string =>
  `${originOf(issuer) ?? ''}/.well-known/oauth-authorization-server${issuerPath(issuer)}`
