// The path table of one MCP endpoint: exactly what is served below the well-known roots.

import { describe, expect, test } from 'vitest'
import {
  oauthDocumentAt,
  registrationPath,
  resourceMetadataPath,
  serverMetadataPath,
} from '../../../src/extauthz/oauth/paths.js'

const PRM = '/.well-known/oauth-protected-resource'
const AS = '/.well-known/oauth-authorization-server'
const OIDC = '/.well-known/openid-configuration'

describe('what is served', () => {
  test.each([
    ['/mcp', `${PRM}/mcp`, 'resource-metadata'],
    ['/mcp', `${PRM}/mcp?x=1`, 'resource-metadata'],
    ['/mcp', `${PRM}/mcp#x`, 'resource-metadata'],
    ['/mcp', `${AS}/mcp`, 'server-metadata'],
    ['/mcp', `${OIDC}/mcp`, 'server-metadata'],
    ['/mcp', `${AS}/mcp/client-registration`, 'registration'],
    ['/mcp', `${AS}/mcp/client-registration?x=${PRM}/mcp`, 'registration'],
    ['', PRM, 'resource-metadata'],
    ['', AS, 'server-metadata'],
    ['', OIDC, 'server-metadata'],
    ['', `${AS}/client-registration`, 'registration'],
    ['/a/b/mcp', `${PRM}/a/b/mcp`, 'resource-metadata'],
    ['/mcp%2Fx', `${PRM}/mcp%2Fx`, 'resource-metadata'],
    // RFC 8414 and RFC 9728 have clients drop a slash at the end; others keep it.
    ['/mcp/', `${PRM}/mcp/`, 'resource-metadata'],
    ['/mcp/', `${PRM}/mcp`, 'resource-metadata'],
    ['/mcp/', `${AS}/mcp`, 'server-metadata'],
    ['/mcp/', `${AS}/mcp/client-registration`, 'registration'],
  ])('mcpPath %j: %s is the %s', (mcpPath, path, document) => {
    expect(oauthDocumentAt(mcpPath, path)).toBe(document)
  })
})

describe('what is not', () => {
  test.each([
    ['/mcp', ''],
    ['/mcp', '/'],
    ['/mcp', '/mcp'],
    ['/mcp', PRM],
    ['/mcp', `${PRM}/`],
    ['/mcp', `${PRM}/mcp/`],
    ['/mcp', `${PRM}/mcpfoo`],
    ['/mcp', `${PRM}/mcp/x`],
    ['/mcp', `${PRM}-evil/mcp`],
    ['/mcp', `${PRM}/other`],
    ['/mcp', `${PRM}/MCP`],
    ['/mcp', `${PRM}/%6dcp`],
    ['/mcp', `${PRM}/mcp;x`],
    ['/mcp', `${PRM}//mcp`],
    ['/mcp', `${PRM}/mcp/client-registration`],
    ['/mcp', `${OIDC}/mcp/client-registration`],
    ['/mcp', `${AS}/client-registration`],
    ['/mcp', `${AS}/mcp/client-registration/`],
    ['/mcp', `${AS}/mcp/x/client-registration`],
    ['/mcp', `/mcp${AS}`],
    ['', `${PRM}/`],
    ['', `${PRM}/mcp`],
    ['/mcp', `/x?y=${PRM}/mcp`],
  ])('mcpPath %j: %j', (mcpPath, path) => {
    expect(oauthDocumentAt(mcpPath, path)).toBeUndefined()
  })
})

test.each(['', '/mcp', '/mcp/', '/a/b'])(
  'the paths that we publish for %j are served',
  (mcpPath) => {
    expect(oauthDocumentAt(mcpPath, resourceMetadataPath(mcpPath))).toBe('resource-metadata')
    expect(oauthDocumentAt(mcpPath, serverMetadataPath(mcpPath))).toBe('server-metadata')
    expect(oauthDocumentAt(mcpPath, registrationPath(mcpPath))).toBe('registration')
  },
)
