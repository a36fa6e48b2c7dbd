"""A small web shop, server and client in one process: Flask where it is there, else plain WSGI.

usage: web_shop.py REQUESTS
"""

import http.client
import json
import logging
import string
import sys
import threading
import wsgiref.simple_server

PAGE = "<h1>$user</h1><ul>$lines</ul>"


class Shop:
    """What the shop knows, however it is asked."""

    def __init__(self):
        self.carts = {}

    def goods(self, count):
        return [{"id": number, "text": "article " * (number % 20)} for number in range(count)]

    def add(self, user, article):
        self.carts.setdefault(user, []).append(article)

    def page(self, user):
        lines = "".join("<li>%s</li>" % article["text"] for article in self.carts.get(user, []))
        return string.Template(PAGE).substitute(user=user, lines=lines)


def flask_application(shop):
    import flask

    application = flask.Flask("shop")

    @application.get("/goods/<int:count>")
    def goods(count):
        return flask.jsonify(shop.goods(count))

    @application.post("/carts/<user>")
    def add(user):
        shop.add(user, flask.request.get_json())
        return "added"

    @application.get("/carts/<user>")
    def page(user):
        if user not in shop.carts:
            flask.abort(404)
        return shop.page(user)

    return application


def plain_application(shop):
    def answer(environ):
        _, kind, name = environ["PATH_INFO"].split("/")
        if kind == "goods":
            return "200 OK", json.dumps(shop.goods(int(name)))
        if environ["REQUEST_METHOD"] == "POST":
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            shop.add(name, json.loads(body))
            return "200 OK", "added"
        if name not in shop.carts:
            return "404 Not Found", "no such cart"
        return "200 OK", shop.page(name)

    def application(environ, start_response):
        status, text = answer(environ)
        body = text.encode()
        start_response(status, [("Content-Length", str(len(body)))])
        return [body]

    return application


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def ask(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Content-Type": "application/json"} if body else {}
    connection.request(method, path, body, headers)
    answer = connection.getresponse().read()
    connection.close()
    return answer


def visit(port, number):
    goods = json.loads(ask(port, "GET", "/goods/%d" % (20 + number % 200)))
    user = "user %d" % (number % 9)
    ask(port, "POST", "/carts/" + user.replace(" ", "-"), json.dumps(goods[-1]))
    ask(port, "GET", "/carts/" + user.replace(" ", "-"))
    ask(port, "GET", "/carts/nobody")


def main(requests):
    shop = Shop()
    try:
        application = flask_application(shop)
    except ImportError:
        application = plain_application(shop)
    logging.disable(logging.CRITICAL)
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, application, handler_class=Quiet)
    threading.Thread(target=server.serve_forever, name="server").start()
    for number in range(requests // 4):
        visit(server.server_port, number)
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
