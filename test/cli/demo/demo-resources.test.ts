// config/demo with other addresses: every reference to a party follows its address, and nothing else changes.

import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { CONFIG_PORTS } from '../../../src/cli/demo/demo-parties.js'
import { type DemoValues, withValues } from '../../../src/cli/demo/stack.js'

const FOLDER = resolve(import.meta.dirname, '../../../config/demo')
const asWritten = readdirSync(FOLDER)
  .map((file) => readFileSync(resolve(FOLDER, file), 'utf8'))
  .join('---\n')

const values = (more: Partial<DemoValues> = {}): DemoValues => ({
  // The gateway is where config/demo has the identity provider: no port may be taken for another.
  ports: {
    gateway: 9000,
    identityProvider: 3001,
    mcpServer: 8000,
    llm: 4444,
    guardrailWebhook: 4000,
  },
  gatewayHost: '127.0.0.1',
  apiGroup: 'policy.gatehouse.dev',
  ...more,
})

test('every port follows its party, where it stands alone and in URLs', () => {
  const texts = withValues(asWritten, values())
  const count = (pattern: RegExp): number => [...texts.matchAll(pattern)].length
  expect(count(/port: 9000$/gm)).toBe(1)
  expect(count(/resource: http:\/\/127\.0\.0\.1:9000\/mcp$/gm)).toBe(1)
  expect(count(/port: 3001$/gm)).toBe(2)
  expect(count(/issuer: http:\/\/127\.0\.0\.1:3001\/application\/o\/mcp\/$/gm)).toBe(1)
  expect(count(/port: 8000$/gm)).toBe(1)
  expect(count(/port: 4444$/gm)).toBe(1)
  expect(count(/port: 4000$/gm)).toBe(4)
  expect(texts).not.toContain('8080')
})

test('a number that is no port stays, as do comments', () => {
  const text = '# On 8080.\nport: 8080 # here\nmaxAge: 8080\nname: "9000"\n'
  expect(withValues(text, values())).toBe(
    '# On 8080.\nport: 9000 # here\nmaxAge: 8080\nname: "9000"\n',
  )
})

test('with the ports and the group that it has, config/demo means the same', () => {
  const same = values({ ports: CONFIG_PORTS })
  const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '')
  expect(lines(withValues(asWritten, same))).toEqual(lines(asWritten))
})

test('the gateway may have another address, the parties have not', () => {
  const texts = withValues(asWritten, values({ gatewayHost: '::1' }))
  expect(texts).toContain('resource: http://[::1]:9000/mcp')
  expect(texts).toContain('issuer: http://127.0.0.1:3001/')
})

test('the API group is the one in force', () => {
  const texts = withValues(asWritten, values({ apiGroup: 'example.com' }))
  expect(texts).not.toContain('gatehouse.dev')
  expect(texts).toContain('apiVersion: example.com/v1alpha1')
  expect(texts).toContain('controllerName: example.com/gatehouse')
  expect(texts).toContain('apiVersion: gateway.networking.k8s.io/v1')
})
