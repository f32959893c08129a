// An in-memory OAuthClientProvider for both versions of the TypeScript MCP client.

import { CLIENT_METADATA, REDIRECT_URI } from './client-run.js'

/**
 * Keeps the state of a login.
 * @typeParam Client stored client information.
 * @typeParam Tokens stored tokens.
 */
export class MemoryProvider<Client, Tokens> {
  readonly redirectUrl = REDIRECT_URI
  readonly clientMetadata = CLIENT_METADATA
  /** The URL to which the client wanted to send the user. */
  authorization: URL | undefined
  #client: Client | undefined
  declare readonly clientMetadataUrl?: string
  #stored: Tokens | undefined
  #verifier = ''

  /** @param clientMetadataUrl the client's id, if it need not register. */
  constructor(clientMetadataUrl?: string) {
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl
  }

  clientInformation = (): Client | undefined => this.#client
  saveClientInformation = (client: Client): void => {
    this.#client = client
  }
  tokens = (): Tokens | undefined => this.#stored
  saveTokens = (tokens: Tokens): void => {
    this.#stored = tokens
  }
  redirectToAuthorization = (url: URL): void => {
    this.authorization = url
  }
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier
  }
  codeVerifier = (): string => this.#verifier
}
