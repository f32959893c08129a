// The tests' realm in the form of Keycloak's admin API, as an operator would set it up for MCP clients.

export const REALM = 'mcp'
export const CLIENT_ID = 'gw-public-client'

const mapper = (name: string, config: Readonly<Record<string, string>>): object => ({
  name,
  protocol: 'openid-connect',
  protocolMapper: name,
  config: { 'access.token.claim': 'true', 'id.token.claim': 'false', ...config },
})

const user = (name: string, ...groups: readonly string[]): object => ({
  username: name,
  enabled: true,
  email: `${name}@example.com`,
  emailVerified: true,
  firstName: name,
  lastName: 'Test',
  credentials: [{ type: 'password', value: name, temporary: false }],
  groups,
  // Users who are not imported have these roles. Without them, clients that request offline_access are rejected.
  realmRoles: [`default-roles-${REALM}`],
})

/** A confidential client with one redirect URI and the same tokens as the other client. A ClientRepresentation. */
export const relayClient = (clientId: string, secret: string, redirectUri: string): object => ({
  ...publicClient(clientId, redirectUri),
  secret,
  publicClient: false,
})

/** A public client with one redirect URI, whose tokens have the realm's optional scopes on request. */
export const publicClient = (clientId: string, redirectUri: string): object => ({
  clientId,
  publicClient: true,
  standardFlowEnabled: true,
  redirectUris: [redirectUri],
  protocolMappers: [
    mapper('oidc-audience-mapper', { 'included.client.audience': CLIENT_ID }),
    mapper('oidc-group-membership-mapper', { 'claim.name': 'groups', 'full.path': 'false' }),
  ],
})

/** The claims of MCP tokens, for any client. A ClientScopeRepresentation. */
export const mcpScope: object = {
  name: 'mcp',
  protocol: 'openid-connect',
  attributes: { 'include.in.token.scope': 'true', 'display.on.consent.screen': 'false' },
  protocolMappers: [
    mapper('oidc-audience-mapper', { 'included.client.audience': CLIENT_ID }),
    mapper('oidc-group-membership-mapper', { 'claim.name': 'groups', 'full.path': 'false' }),
  ],
}

/** The realm. A RealmRepresentation. */
export const realm: object = {
  realm: REALM,
  enabled: true,
  groups: [{ name: 'mcp-users' }, { name: 'staff' }],
  users: [user('alice', 'mcp-users', 'staff'), user('bob', 'staff')],
  clients: [
    {
      clientId: CLIENT_ID,
      publicClient: true,
      standardFlowEnabled: true,
      directAccessGrantsEnabled: true,
      redirectUris: ['http://127.0.0.1:39998/callback'],
      attributes: { 'pkce.code.challenge.method': 'S256' },
      protocolMappers: [
        mapper('oidc-audience-mapper', { 'included.client.audience': CLIENT_ID }),
        mapper('oidc-group-membership-mapper', { 'claim.name': 'groups', 'full.path': 'false' }),
      ],
    },
  ],
}
