// Lists what a provider's discovery document lacks for MCP clients that use the provider directly
// (authorizationServer Provider).

import type { Json, JsonObject } from '../../ir/json.js'

/** isOpenToPages: whether pages of every origin may read the document. */
export function providerNotes(discovery: JsonObject, isOpenToPages: boolean): readonly string[] {
  const {
    code_challenge_methods_supported: challenges,
    registration_endpoint: registration,
    client_id_metadata_document_supported: documents,
  } = discovery
  const registers = typeof registration === 'string'
  return [
    ...(names(challenges, 'S256')
      ? []
      : [
          'The discovery document does not list S256 in code_challenge_methods_supported: MCP clients refuse the provider',
        ]),
    ...(registers || documents === true
      ? []
      : [
          'The provider offers neither registration nor client metadata documents: every MCP client needs a client id that is registered there',
        ]),
    ...(registers && documents !== true
      ? [
          'The provider does not support client metadata documents (client_id_metadata_document_supported): clients must register there, if it allows that',
        ]
      : []),
    ...(!registers && documents === true
      ? [
          'The provider does not offer registration (registration_endpoint): MCP clients without a metadata document need a client id that is registered there',
        ]
      : []),
    ...(isOpenToPages
      ? []
      : [
          'The provider does not let web pages read its discovery document (CORS): MCP clients in a browser cannot log in',
        ]),
  ]
}

const names = (list: Json | undefined, value: string): boolean =>
  Array.isArray(list) && (list as readonly Json[]).includes(value)
