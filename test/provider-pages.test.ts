// The pages of docs/providers: each is in the index, states what was run, and its YAML passes check and translate. The
// relay treats the products' published discovery documents as the pages say.

import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { check } from '../src/cli/commands/check.js'
import type { CommandIo, ExitCode } from '../src/cli/commands/command-io.js'
import { translateOffline } from '../src/cli/commands/offline.js'
import { translate } from '../src/cli/commands/translate.js'
import { createTranslator } from '../src/control/translate/translator.js'
import type { RemoteDocument } from '../src/model/remote-target.js'
import { parseCommandLine, type Settings } from '../src/ops/settings/settings.js'
import { documentText, fences, PROVIDERS } from './support/documented-yaml.js'
import { someRows } from './support/some-rows.js'

const ROOT = resolve(import.meta.dirname, '..')
const INDEX = `${PROVIDERS}/README.md`
const PAGES = readdirSync(join(ROOT, PROVIDERS))
  .filter((name) => name !== 'README.md')
  .map((name) => name.replace('.md', ''))
const pathOf = (page: string): string => `${PROVIDERS}/${page}.md`

test('every product has a page, and every page is in the index', () => {
  expect(PAGES.sort()).toEqual(
    ['auth0', 'authentik', 'cognito', 'descope', 'entra', 'google', 'keycloak', 'okta'].sort(),
  )
  expect(PAGES.filter((page) => !documentText(INDEX).includes(`](${page}.md)`))).toEqual([])
})

describe.each(PAGES)('%s', (page) => {
  const text = documentText(pathOf(page))
  const [, run = ''] = text.split('## What was run\n')

  test('says what was run: a test that reads the page, or "Not run"', () => {
    const named = /`(test\/[\w/-]+\.test\.ts)`/.exec(run)?.[1]
    if (named === undefined) expect(run).toContain('Not run')
    else {
      expect(existsSync(join(ROOT, named)), named).toBe(true)
      expect(documentText(named)).toContain(page)
    }
  })

  test('says which provider to name, if any', () => {
    const [, product] = /^`provider: (IdpOne|IdpTwo)`\.$/m.exec(text) ?? []
    const named =
      fences(pathOf(page), 'yaml')
        .join()
        .match(/provider: Idp\w+/g) ?? []
    if (product === undefined) expect(named).toEqual([])
    else expect(named).toEqual([`provider: ${product}`])
    expect(text).toMatch(/^Leave `provider` out\.$|^`provider: Idp|^Google cannot be/m)
  })
})

const WITH_YAML = PAGES.filter((page) => fences(pathOf(page), 'yaml').length > 0)

/** The YAML of a page. Keycloak's first block is a whole folder, the others are for later steps. */
const yamlOf = (page: string): readonly string[] =>
  page === 'keycloak'
    ? fences(pathOf(page), 'yaml').slice(0, 1)
    : [...fences(INDEX, 'yaml'), ...fences(pathOf(page), 'yaml')]

async function settingsOf(command: string, page: string): Promise<readonly [Settings, string]> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-provider-'))
  await writeFile(join(folder, 'resources.yaml'), yamlOf(page).join('---\n'))
  const line = parseCommandLine([command, folder], {})
  if (line.type !== 'settings') throw new Error(JSON.stringify(line))
  return [line.settings, folder]
}

async function runCommand(
  command: 'check' | 'translate',
  page: string,
): Promise<readonly [ExitCode, string]> {
  const [settings, folder] = await settingsOf(command, page)
  let printed = ''
  const io: CommandIo = {
    out: (text) => (printed += text),
    err: (text) => (printed += text),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    stop: new AbortController().signal,
    atExit: () => undefined,
  }
  const code = await (command === 'check' ? check : translate)(settings, io)
  await rm(folder, { recursive: true })
  return [code, printed]
}

describe.each(someRows(WITH_YAML))('the YAML of %s', (page) => {
  test('passes check', async () => {
    const [code, printed] = await runCommand('check', page)
    expect(printed).toContain('; all is well\n')
    expect(code).toBe(0)
  })

  test('passes translate, and its route asks Gatehouse', async () => {
    const [code, printed] = await runCommand('translate', page)
    expect(code).toBe(0)
    expect(printed).toContain('x-gatehouse-route')
  })
})

/** Endpoints as the products document them. */
const DISCOVERY: Readonly<Record<string, object>> = {
  auth0: {
    issuer: 'https://example.eu.auth0.com/',
    authorization_endpoint: 'https://example.eu.auth0.com/authorize',
    token_endpoint: 'https://example.eu.auth0.com/oauth/token',
  },
  cognito: {
    issuer: 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example',
    authorization_endpoint: 'https://mcp-example.auth.eu-west-1.amazoncognito.com/oauth2/authorize',
    token_endpoint: 'https://mcp-example.auth.eu-west-1.amazoncognito.com/oauth2/token',
  },
  entra: {
    issuer: 'https://login.microsoftonline.com/11111111-1111-1111-1111-111111111111/v2.0',
    authorization_endpoint:
      'https://login.microsoftonline.com/11111111-1111-1111-1111-111111111111/oauth2/v2.0/authorize',
    token_endpoint:
      'https://login.microsoftonline.com/11111111-1111-1111-1111-111111111111/oauth2/v2.0/token',
  },
  okta: {
    issuer: 'https://example.okta.com/oauth2/default',
    authorization_endpoint: 'https://example.okta.com/oauth2/default/v1/authorize',
    token_endpoint: 'https://example.okta.com/oauth2/default/v1/token',
  },
}

test.each(Object.entries(DISCOVERY))(
  'the relay of %s takes the endpoints that the product documents',
  async (page, discovery) => {
    const [settings, folder] = await settingsOf('check', page)
    const { provider, translation } = await translateOffline(settings)
    await rm(folder, { recursive: true })
    const documents = translation.wanted.map(({ id, kind }): [string, RemoteDocument] => [
      id,
      { document: kind === 'Discovery' ? { ...discovery } : { keys: [] }, fetchedAt: 0 },
    ])
    const options = {
      apiGroup: settings.apiGroup,
      clusterDomain: settings.clusterDomain,
      metadataIssuer: 'Provider',
      relayKeys: () => ({
        keys: [Buffer.alloc(32).toString('base64url')],
        files: ['key'],
        areOwn: false,
      }),
    } as const
    const { ir } = createTranslator(options).translate(provider.resources, new Map(documents))
    const relay = ir.proc.flatMap((entry) => ('relay' in entry ? [entry.relay] : []))[0]
    expect(relay?.provider?.token.url).toBe(Reflect.get(discovery, 'token_endpoint'))
    expect(relay?.provider?.token.tls).toMatchObject({ authorities: 'System' })
  },
)
