// The realm of the tests, as Keycloak's admin API takes it: what an operator would set up for MCP clients.

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
  // As every user who is not imported has: clients that ask for offline_access are refused without them.
  realmRoles: [`default-roles-${REALM}`],
})

/** A confidential client with one redirect URI, whose tokens are as those of the other. ClientRepresentation. */
export const relayClient = (clientId: string, secret: string, redirectUri: string): object => ({
  clientId,
  secret,
  publicClient: false,
  standardFlowEnabled: true,
  redirectUris: [redirectUri],
  protocolMappers: [
    mapper('oidc-audience-mapper', { 'included.client.audience': CLIENT_ID }),
    mapper('oidc-group-membership-mapper', { 'claim.name': 'groups', 'full.path': 'false' }),
  ],
})

/** ClientScopeRepresentation: what tokens for MCP say, of whatever client. */
export const mcpScope: object = {
  name: 'mcp',
  protocol: 'openid-connect',
  attributes: { 'include.in.token.scope': 'false', 'display.on.consent.screen': 'false' },
  protocolMappers: [
    mapper('oidc-audience-mapper', { 'included.client.audience': CLIENT_ID }),
    mapper('oidc-group-membership-mapper', { 'claim.name': 'groups', 'full.path': 'false' }),
  ],
}

/** RealmRepresentation. */
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
