// Builds the oidc-provider configuration for one shape, its users and its clients.

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type {
  Adapter,
  AdapterPayload,
  ClientMetadata,
  Configuration,
  interactionPolicy,
  JWK,
  KoaContextWithOIDC,
} from 'oidc-provider'
import { type Shape, shapeClaims, shapePaths, type User } from './shape.js'

/** Default lifetime of tokens in seconds. */
const DEFAULT_TOKEN_TTL = 3600
const SCOPES = ['openid', 'profile', 'email'] as const

/** The shape, users and clients of an identity provider. */
export interface IdpConfig {
  readonly shape: Shape
  readonly users: readonly User[]
  /** Public client that MCP clients get from the gateway's registration; accepts any loopback redirect URI. */
  readonly clientId: string
  /** Confidential client for the client_credentials grant: a service account without groups. */
  readonly serviceAccount?: { readonly clientId: string; readonly secret: string }
  /** Whether authorization responses carry the RFC 9207 `iss`; those of IdpOne and IdpTwo do not. */
  readonly sendIss?: boolean
  /** Whether IdpTwo registers clients without its management key. */
  readonly openRegistration?: boolean
  /** Whether a login lasts in the same browser; absent: every login asks, which allows another user to log in. */
  readonly rememberLogin?: boolean
  /** Whether GET /token/USER answers with an access token: for the command line of a demo, and nothing else. */
  readonly tokenPath?: boolean
  /** Lifetime of tokens in seconds. */
  readonly tokenTtl?: number
  /** Private signing keys, of which the first signs; absent: a new RSA key. */
  readonly keys?: readonly JWK[]
}

/** Returns the configuration of oidc-provider. */
export function providerConfiguration(
  config: IdpConfig,
  issuer: string,
  policy: interactionPolicy.DefaultPolicy,
): Configuration {
  const { shape } = config
  const paths = shapePaths(shape)
  return {
    adapter: memoryAdapters(),
    clients: clients(config),
    jwks: { keys: [...(config.keys ?? [signingKey()])] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    scopes: [...SCOPES],
    pkce: { required: () => true },
    routes: shape.type === 'IdpOne' ? { jwks: '/jwks/' } : {},
    interactions: { policy, url: (_ctx, { uid }) => `${paths.mount}/interaction/${uid}` },
    clientBasedCORS: () => true,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    ttl: { AccessToken: config.tokenTtl ?? DEFAULT_TOKEN_TTL, ...SESSION_TTL },
    findAccount: (_ctx, id) =>
      findUser(config, id) && { accountId: id, claims: () => ({ sub: id }) },
    loadExistingGrant: grantEverything,
    extraTokenClaims: (ctx) => shapeClaims(shape, findUser(config, ctx.oidc.account?.accountId)),
    renderError: (ctx, out) => {
      ctx.type = 'text'
      ctx.body = `${out.error}: ${out.error_description ?? ''}\n`
    },
    features: features(config, issuer),
  }
}

const SESSION_TTL = {
  ClientCredentials: 3600,
  Grant: 86_400,
  IdToken: 3600,
  Interaction: 3600,
  RefreshToken: 86_400,
  Session: 86_400,
}

/** Returns the user of a name. */
export const findUser = (config: IdpConfig, name: string | undefined): User | undefined =>
  config.users.find((user) => user.name === name)

/** Creates a private RSA key as a JWK. */
export function signingKey(): JWK {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { use: 'sig', alg: 'RS256', kid: randomBytes(6).toString('hex') }
  return { ...privateKey.export({ format: 'jwk' }), ...key }
}

function clients(config: IdpConfig): ClientMetadata[] {
  const common: ClientMetadata = {
    client_id: config.clientId,
    client_name: 'MCP client',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: ['http://127.0.0.1/callback'],
  }
  if (config.serviceAccount === undefined) return [common]
  const account: ClientMetadata = {
    client_id: config.serviceAccount.clientId,
    client_secret: config.serviceAccount.secret,
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  }
  return [common, account]
}

function features(config: IdpConfig, issuer: string): Configuration['features'] {
  const { shape, tokenTtl } = config
  return {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    clientCredentials: { enabled: true },
    ...(shape.type === 'IdpTwo' && {
      registration: {
        enabled: true,
        initialAccessToken: config.openRegistration === true ? false : shape.managementKey,
      },
    }),
    resourceIndicators: {
      enabled: true,
      defaultResource: () => issuer,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource, client) => ({
        scope: SCOPES.join(' '),
        audience: shape.type === 'IdpOne' ? client.clientId : resource,
        accessTokenTTL: tokenTtl ?? DEFAULT_TOKEN_TTL,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  }
}

/** Grants all scopes and resources without consent to whoever logs in. */
async function grantEverything(ctx: KoaContextWithOIDC) {
  const { oidc } = ctx
  const grant = new oidc.provider.Grant({
    clientId: oidc.client?.clientId,
    accountId: oidc.session?.accountId,
  })
  grant.addOIDCScope(SCOPES.join(' '))
  for (const resource of Object.keys(oidc.resourceServers ?? {})) {
    grant.addResourceScope(resource, SCOPES.join(' '))
  }
  await grant.save()
  return grant
}

// Stores the identity provider's sessions, codes and clients in memory.

/** Returns a factory for the adapters of one provider. oidc-provider creates one per model; all share one map. */
function memoryAdapters(): (model: string) => Adapter {
  const stored = new Map<string, AdapterPayload>()
  return (model) => new MemoryAdapter(model, stored)
}

class MemoryAdapter implements Adapter {
  constructor(
    private readonly model: string,
    private readonly stored: Map<string, AdapterPayload>,
  ) {}

  upsert(id: string, payload: AdapterPayload): Promise<undefined> {
    this.stored.set(this.#key(id), payload)
    return Promise.resolve(undefined)
  }

  find(id: string): Promise<AdapterPayload | undefined> {
    return Promise.resolve(this.stored.get(this.#key(id)))
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#findBy((payload) => payload.uid === uid)
  }

  findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.#findBy((payload) => payload.userCode === userCode)
  }

  consume(id: string): Promise<undefined> {
    const payload = this.stored.get(this.#key(id))
    if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000)
    return Promise.resolve(undefined)
  }

  destroy(id: string): Promise<undefined> {
    this.stored.delete(this.#key(id))
    return Promise.resolve(undefined)
  }

  revokeByGrantId(grantId: string): Promise<undefined> {
    for (const [key, payload] of this.stored) {
      if (payload.grantId === grantId) this.stored.delete(key)
    }
    return Promise.resolve(undefined)
  }

  #key(id: string): string {
    return `${this.model}:${id}`
  }

  #findBy(matches: (payload: AdapterPayload) => boolean): Promise<AdapterPayload | undefined> {
    for (const [key, payload] of this.stored) {
      if (key.startsWith(`${this.model}:`) && matches(payload)) return Promise.resolve(payload)
    }
    return Promise.resolve(undefined)
  }
}
