// Flags of `gatehouse explain`: the request to explain, the keys to verify with, the form of the output. `check` has --fetch too.

import { isIP } from 'node:net'
import { err, ok } from '../result.js'
import { many, one, oneOr, onOff } from './flag.js'
import { readInteger, readOneOf, readText, type ReadValue } from './values.js'

const readIp: ReadValue<string> = (text) =>
  isIP(text) === 0 ? err('an IP address, e.g. 192.0.2.1') : ok(text)

/** Flags by the name of their property in Settings, as in FLAGS. */
export const EXPLAIN_FLAGS = {
  request: one(readText, {
    value: 'REQUEST',
    commands: ['explain'],
    meaning: 'the request to explain: METHOD URL, e.g. "POST https://mcp.example.com/mcp"',
  }),
  header: many(readText, {
    value: 'HEADER',
    commands: ['explain'],
    meaning: 'a header of the request: "Name: value"; repeatable',
  }),
  token: one(readText, {
    value: 'FILE|-',
    commands: ['explain'],
    meaning: 'the file with the bearer token of the request; -: standard input',
  }),
  body: one(readText, {
    value: 'FILE|-',
    commands: ['explain'],
    meaning: 'the file with the body of the request, which rules on MCP messages read',
  }),
  source: one(readIp, {
    value: 'IP',
    commands: ['explain'],
    meaning: 'the address that the request comes from; default 127.0.0.1',
  }),
  listenerPort: one(readInteger(1, 65_535), {
    value: 'N',
    commands: ['explain'],
    meaning: 'the port of the listener that the request reaches; default that of the URL',
  }),
  jwks: many(readText, {
    value: '[URL=]FILE',
    commands: ['explain'],
    meaning:
      'with --resources: the key set of the provider at this URL, or of every provider without a file of its own; repeatable',
  }),
  fetch: onOff({
    commands: ['check', 'explain'],
    meaning:
      'ask the identity providers: for key sets and discovery documents (explain: with --resources, for the key sets that the decision needs)',
  }),
  format: oneOr(readOneOf('text', 'json'), 'text', {
    value: 'text|json',
    commands: ['explain'],
    meaning: 'the form of the explanation',
  }),
}
