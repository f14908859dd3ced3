// A small MCP server on version 2 of the TypeScript SDK, as its documentation says to write one. The word says how:
// stdio for both eras over standard input and output; http for both eras on the port in PORT, the older one without
// sessions; sessions for the older era alone, with sessions; guarded is http for those who have a token of the authorization
// server ISSUER, which is asked about it with RESOURCE_SECRET.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
  requireBearerAuth,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const newServer = () => {
  const server = new McpServer({ name: 'ts-v2', version: '1.0.0' });
  server.registerTool(
    'add',
    {
      description: 'Add two numbers',
      inputSchema: z.object({ a: z.number().describe('The first'), b: z.number().describe('The second') }),
      annotations: { readOnlyHint: true },
    },
    async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
  );
  server.registerResource('greeting', 'text://greeting', { mimeType: 'text/plain' }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'hello' }],
  }));
  server.registerPrompt('greet', { description: 'Greet somebody' }, async () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'Say hello.' } }],
  }));
  return server;
};

// listen serves /mcp on this machine only, and refuses what a page in a browser could send.
const listen = (handle) => {
  const validHost = localhostHostValidation();
  const validOrigin = localhostOriginValidation();
  createServer((req, res) => {
    if (!validHost(req, res) || !validOrigin(req, res)) return;
    if (req.url !== '/mcp' && !req.url.startsWith('/.well-known/')) {
      res.writeHead(404).end();
      return;
    }
    handle(req, res);
  }).listen(Number(process.env.PORT), '127.0.0.1');
};

// sessions keeps one transport for each session.
const sessions = () => {
  const transports = new Map();
  return async (req, res) => {
    const id = req.headers['mcp-session-id'];
    const known = transports.get(id);
    if (known) {
      await known.handleRequest(req, res);
      return;
    }
    if (id) {
      res.writeHead(404, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }));
      return;
    }
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => transports.set(session, transport),
      onsessionclosed: (session) => transports.delete(session),
    });
    await newServer().connect(transport);
    await transport.handleRequest(req, res);
  };
};

// guarded lets requests with a token through, and tells the others where tokens come from.
const guarded = async () => {
  const issuer = process.env.ISSUER;
  const resource = new URL(`http://127.0.0.1:${process.env.PORT}/mcp`);
  const oauthMetadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
  const verifyAccessToken = async (token) => {
    const body = new URLSearchParams({ token, client_id: 'resource-server', client_secret: process.env.RESOURCE_SECRET });
    const said = await (await fetch(oauthMetadata.introspection_endpoint, { method: 'POST', body })).json();
    if (!said.active) throw new OAuthError(OAuthErrorCode.InvalidToken, 'the token is not good');
    return { token, clientId: said.client_id, scopes: said.scope.split(' '), expiresAt: said.exp, resource: new URL(said.aud) };
  };
  const gate = requireBearerAuth({
    verifier: { verifyAccessToken },
    requiredScopes: ['mcp:read'],
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
    expectedResource: resource,
  });
  const handler = createMcpHandler(newServer);
  return {
    fetch: async (request) => {
      const document = oauthMetadataResponse(request, { oauthMetadata, resourceServerUrl: resource, scopesSupported: ['mcp:read'] });
      if (document) return document;
      const authInfo = await gate(request);
      return authInfo instanceof Response ? authInfo : handler.fetch(request, { authInfo });
    },
  };
};

switch (process.argv[2]) {
  case 'http':
    listen(toNodeHandler(createMcpHandler(newServer)));
    break;
  case 'sessions':
    listen(sessions());
    break;
  case 'guarded':
    listen(toNodeHandler(await guarded()));
    break;
  default:
    serveStdio(newServer);
}
