// What an MCP client in TypeScript keeps of a login, in memory. Fits the OAuthClientProvider of both versions.

import { CLIENT_METADATA, REDIRECT_URI } from './client-run.js'

/** Client: stored client information; Tokens: stored tokens. */
export class MemoryProvider<Client, Tokens> {
  readonly redirectUrl = REDIRECT_URI
  readonly clientMetadata = CLIENT_METADATA
  /** Where the client wanted to send the user. */
  authorization: URL | undefined
  private client: Client | undefined
  declare readonly clientMetadataUrl?: string
  private stored: Tokens | undefined
  private verifier = ''

  /** clientMetadataUrl: who the client is, where it needs not register. */
  constructor(clientMetadataUrl?: string) {
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl
  }

  clientInformation = (): Client | undefined => this.client
  saveClientInformation = (client: Client): void => {
    this.client = client
  }
  tokens = (): Tokens | undefined => this.stored
  saveTokens = (tokens: Tokens): void => {
    this.stored = tokens
  }
  redirectToAuthorization = (url: URL): void => {
    this.authorization = url
  }
  saveCodeVerifier = (verifier: string): void => {
    this.verifier = verifier
  }
  codeVerifier = (): string => this.verifier
}
